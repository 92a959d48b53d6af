// SPDX-License-Identifier: Apache-2.0

// lab.sys: a driver for Wine 10 that decides nothing. Each request on one of its
// devices is handed to a server, a process that asks for it on \\.\LabControl,
// and is completed with the server's answer (an "inverted call").
//
// Wine dispatches all requests of a driver on one thread, so there are no locks;
// and nothing here may wait.
#include <ntddk.h>

// The control codes of \\.\LabControl, and what goes in and out.
#define CONTROL(n) (0x80000000u | ((0x800 + (n)) << 2)) // any access, buffered
#define GET        CONTROL(0) // out: struct message, input bytes
#define PUT        CONTROL(1) // in: struct answer, output bytes
#define DEVICE     CONTROL(2) // in: u32 number, name: makes a device
#define REMOVE     CONTROL(3) // in: u32 number: removes it
#define LINK       CONTROL(4) // in: link, target, target before ("" for none)
#define UNLINK     CONTROL(5) // in: link: removes it, or gives it back its target
#define COUNTS     CONTROL(6) // out: u32 waiting, u32 held, u32 devices, u32 links

struct message {
    ULONGLONG id;     // by which it is answered
    ULONGLONG file;   // a number for each open
    ULONGLONG offset; // of a read or write; the id, of a cancelled request
    ULONG device;
    ULONG kind;   // the major function, or KIND_CANCELLED
    ULONG code;   // the control code or information class
    ULONG access; // with which the file was opened
    ULONG process, thread;
    ULONG input, output; // lengths
};

// Opening, closing and cancelling are told and not answered.
#define KIND_CANCELLED 0x81

struct answer {
    ULONGLONG id;
    ULONG status;
    ULONG length; // of the output bytes behind it
};

// A request that waits for the server, or for the server's answer.
struct request {
    LIST_ENTRY entry;
    struct message message;
    IRP *irp; // NULL for what is only told
    UCHAR input[];
};

struct link {
    LIST_ENTRY entry;
    UNICODE_STRING name, before; // before: where it led, if anywhere
};

// What each device has of its own.
struct extension { ULONG number; };

static DRIVER_OBJECT *driver;
static DEVICE_OBJECT *control_device;
static FILE_OBJECT *server; // the one handle that is served
static LIST_ENTRY waiting, held, gets, links;
static ULONGLONG next_id, next_file;

static void copy(void *to, const void *from, SIZE_T n) {
    UCHAR *t = to;
    const UCHAR *f = from;
    while (n--) *t++ = *f++;
}

static ULONG count(LIST_ENTRY *list) {
    ULONG n = 0;
    for (LIST_ENTRY *e = list->Flink; e != list; e = e->Flink) n++;
    return n;
}

static NTSTATUS complete(IRP *irp, NTSTATUS status, ULONG_PTR information) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

// ---- requests that outlive their dispatch ----

// Wine may dispatch a cancellation after its request has ended, with the address
// of an IRP that is freed. So IRPs are kept for a while after their end.
#define KEPT 2048
static PIO_COMPLETION_ROUTINE wine_completion;
static IRP *kept[KEPT];
static ULONG oldest;

static void free_irp(IRP *irp) {
    const ULONG owns_buffer = 0x20; // IRP_DEALLOCATE_BUFFER
    if ((irp->Flags & owns_buffer) && irp->AssociatedIrp.SystemBuffer) ExFreePool(irp->AssociatedIrp.SystemBuffer);
    IoFreeIrp(irp);
}

static NTSTATUS WINAPI keep(DEVICE_OBJECT *device, IRP *irp, void *context) {
    NTSTATUS status = wine_completion(device, irp, context);
    if (status == STATUS_MORE_PROCESSING_REQUIRED) return status;
    if (kept[oldest]) free_irp(kept[oldest]);
    kept[oldest] = irp;
    oldest = (oldest + 1) % KEPT;
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static NTSTATUS pend(IRP *irp, PDRIVER_CANCEL cancel) {
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    IoMarkIrpPending(irp);
    if (stack->CompletionRoutine) {
        wine_completion = stack->CompletionRoutine;
        stack->CompletionRoutine = keep;
    }
    IoSetCancelRoutine(irp, cancel);
    return STATUS_PENDING;
}

static struct request *new_request(const struct message *message, const void *input) {
    struct request *r = ExAllocatePool(NonPagedPool, sizeof *r + message->input);
    if (!r) return NULL;
    r->message = *message;
    r->message.id = ++next_id;
    r->irp = NULL;
    copy(r->input, input, message->input);
    return r;
}

// end takes a request from its list and completes it.
static void end(struct request *r, NTSTATUS status, ULONG_PTR information) {
    IRP *irp = r->irp;
    RemoveEntryList(&r->entry);
    ExFreePool(r);
    if (!irp) return;
    IoSetCancelRoutine(irp, NULL);
    complete(irp, status, information);
}

// deliver hands waiting requests to waiting GETs.
static void deliver(void) {
    while (!IsListEmpty(&waiting) && !IsListEmpty(&gets)) {
        struct request *r = CONTAINING_RECORD(waiting.Flink, struct request, entry);
        IRP *get = CONTAINING_RECORD(RemoveHeadList(&gets), IRP, Tail.Overlay.ListEntry);
        ULONG room = IoGetCurrentIrpStackLocation(get)->Parameters.DeviceIoControl.OutputBufferLength;
        ULONG n = sizeof r->message + r->message.input;
        UCHAR *out = get->AssociatedIrp.SystemBuffer;
        IoSetCancelRoutine(get, NULL);
        if (room < n) {
            complete(get, STATUS_BUFFER_TOO_SMALL, 0);
            continue;
        }
        copy(out, &r->message, sizeof r->message);
        copy(out + sizeof r->message, r->input, r->message.input);
        RemoveEntryList(&r->entry);
        if (r->irp) InsertTailList(&held, &r->entry);
        else ExFreePool(r);
        complete(get, STATUS_SUCCESS, n);
    }
}

// tell says something to the server that it does not answer.
static void tell(const struct message *message) {
    struct request *r = server ? new_request(message, NULL) : NULL;
    if (!r) return;
    InsertTailList(&waiting, &r->entry);
    deliver();
}

static void tell_cancelled(const struct message *about) {
    struct message m = *about;
    m.offset = about->id;
    m.kind = KIND_CANCELLED;
    m.input = m.output = 0;
    tell(&m);
}

static void WINAPI cancel_get(DEVICE_OBJECT *device, IRP *irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    RemoveEntryList(&irp->Tail.Overlay.ListEntry);
    complete(irp, STATUS_CANCELLED, 0);
}

static struct request *of_irp(LIST_ENTRY *list, IRP *irp) {
    for (LIST_ENTRY *e = list->Flink; e != list; e = e->Flink) {
        struct request *r = CONTAINING_RECORD(e, struct request, entry);
        if (r->irp == irp) return r;
    }
    return NULL;
}

static void WINAPI cancel_request(DEVICE_OBJECT *device, IRP *irp) {
    struct request *r;
    IoReleaseCancelSpinLock(irp->CancelIrql);
    if ((r = of_irp(&held, irp))) tell_cancelled(&r->message);
    else if (!(r = of_irp(&waiting, irp))) return;
    end(r, STATUS_CANCELLED, 0);
}

// end_all ends the requests of a list that belong to a device or a file; 0 means
// all of them.
static void end_all(LIST_ENTRY *list, ULONG device, ULONGLONG file, NTSTATUS status) {
    for (LIST_ENTRY *e = list->Flink, *next; e != list; e = next) {
        struct request *r = CONTAINING_RECORD(e, struct request, entry);
        next = e->Flink;
        if (device && r->message.device != device) continue;
        if (file && (r->message.file != file || !r->irp)) continue;
        if (file && list == &held) tell_cancelled(&r->message);
        end(r, status, 0);
    }
}

// ---- the control device ----

static NTSTATUS put(const struct answer *a, ULONG length) {
    if (length < sizeof *a || length - sizeof *a < a->length) return STATUS_INVALID_PARAMETER;
    for (LIST_ENTRY *e = held.Flink; e != &held; e = e->Flink) {
        struct request *r = CONTAINING_RECORD(e, struct request, entry);
        if (r->message.id != a->id) continue;
        const ULONG not_buffered = 3; // the method bits of a control code
        BOOLEAN control = r->message.kind == IRP_MJ_DEVICE_CONTROL || r->message.kind == IRP_MJ_FILE_SYSTEM_CONTROL;
        void *out = control && (r->message.code & not_buffered) ? r->irp->UserBuffer : r->irp->AssociatedIrp.SystemBuffer;
        ULONG n = a->length < r->message.output ? a->length : r->message.output;
        if (out) copy(out, a + 1, n);
        end(r, a->status, n);
        return STATUS_SUCCESS;
    }
    return STATUS_NOT_FOUND; // cancelled meanwhile
}

static DEVICE_OBJECT *device_of(ULONG number) {
    for (DEVICE_OBJECT *d = driver->DeviceObject; d; d = d->NextDevice)
        if (((struct extension *)d->DeviceExtension)->number == number) return d;
    return NULL;
}

static NTSTATUS make_device(ULONG number, WCHAR *name) {
    UNICODE_STRING n;
    DEVICE_OBJECT *d;
    RtlInitUnicodeString(&n, name);
    NTSTATUS status = IoCreateDevice(driver, sizeof(struct extension), &n, FILE_DEVICE_DISK, 0, FALSE, &d);
    if (status) return status;
    ((struct extension *)d->DeviceExtension)->number = number;
    d->Flags |= DO_BUFFERED_IO;
    d->Flags &= ~DO_DEVICE_INITIALIZING;
    return STATUS_SUCCESS;
}

static NTSTATUS remove_device(ULONG number) {
    DEVICE_OBJECT *d = number ? device_of(number) : NULL;
    if (!d) return STATUS_NO_SUCH_DEVICE;
    end_all(&held, number, 0, STATUS_NO_SUCH_DEVICE);
    end_all(&waiting, number, 0, STATUS_NO_SUCH_DEVICE);
    IoDeleteDevice(d);
    return STATUS_SUCCESS;
}

static WCHAR *after(WCHAR *s) {
    while (*s++) {}
    return s;
}

static void keep_string(UNICODE_STRING *to, WCHAR *s) {
    ULONG bytes = (ULONG)((UCHAR *)after(s) - (UCHAR *)s);
    WCHAR *p = ExAllocatePool(NonPagedPool, bytes);
    if (p) copy(p, s, bytes);
    RtlInitUnicodeString(to, p);
}

static NTSTATUS make_link(WCHAR *name) {
    WCHAR *target = after(name), *before = after(target);
    UNICODE_STRING t;
    struct link *l = ExAllocatePool(NonPagedPool, sizeof *l);
    if (!l) return STATUS_INSUFFICIENT_RESOURCES;
    keep_string(&l->name, name);
    keep_string(&l->before, before);
    RtlInitUnicodeString(&t, target);
    if (l->before.Length) IoDeleteSymbolicLink(&l->name);
    InsertTailList(&links, &l->entry);
    return IoCreateSymbolicLink(&l->name, &t);
}

static void undo_link(struct link *l) {
    IoDeleteSymbolicLink(&l->name);
    if (l->before.Length) IoCreateSymbolicLink(&l->name, &l->before);
    RemoveEntryList(&l->entry);
    ExFreePool(l->name.Buffer);
    ExFreePool(l->before.Buffer);
    ExFreePool(l);
}

static NTSTATUS remove_link(WCHAR *name) {
    UNICODE_STRING n;
    RtlInitUnicodeString(&n, name);
    for (LIST_ENTRY *e = links.Flink; e != &links; e = e->Flink) {
        struct link *l = CONTAINING_RECORD(e, struct link, entry);
        if (RtlCompareUnicodeString(&n, &l->name, TRUE)) continue;
        undo_link(l);
        return STATUS_SUCCESS;
    }
    return STATUS_NOT_FOUND;
}

// forget undoes all that a server has made, when it goes or dies.
static void forget(void) {
    server = NULL;
    end_all(&held, 0, 0, STATUS_DEVICE_NOT_CONNECTED);
    end_all(&waiting, 0, 0, STATUS_DEVICE_NOT_CONNECTED);
    while (!IsListEmpty(&links)) undo_link(CONTAINING_RECORD(links.Flink, struct link, entry));
    for (DEVICE_OBJECT *d = driver->DeviceObject, *next; d; d = next) {
        next = d->NextDevice;
        if (d != control_device) IoDeleteDevice(d);
    }
}

static NTSTATUS counts(ULONG *out, ULONG room) {
    if (room < 4 * sizeof *out) return STATUS_BUFFER_TOO_SMALL;
    out[0] = count(&waiting);
    out[1] = count(&held);
    out[2] = 0;
    for (DEVICE_OBJECT *d = driver->DeviceObject; d; d = d->NextDevice)
        if (d != control_device) out[2]++;
    out[3] = count(&links);
    return STATUS_SUCCESS;
}

// control answers the server. The first handle that asks is the server's; there
// is no other until it is closed.
static NTSTATUS control(IRP *irp) {
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    ULONG in = stack->Parameters.DeviceIoControl.InputBufferLength;
    ULONG room = stack->Parameters.DeviceIoControl.OutputBufferLength;
    ULONG *b = irp->AssociatedIrp.SystemBuffer;

    if (server && server != stack->FileObject) return complete(irp, STATUS_DEVICE_BUSY, 0);
    server = stack->FileObject;
    switch (stack->Parameters.DeviceIoControl.IoControlCode) {
    case GET:
        pend(irp, cancel_get);
        InsertTailList(&gets, &irp->Tail.Overlay.ListEntry);
        deliver();
        return STATUS_PENDING;
    case PUT:    return complete(irp, put((struct answer *)b, in), 0);
    case DEVICE: return complete(irp, make_device(b[0], (WCHAR *)(b + 1)), 0);
    case REMOVE: return complete(irp, remove_device(b[0]), 0);
    case LINK:   return complete(irp, make_link((WCHAR *)b), 0);
    case UNLINK: return complete(irp, remove_link((WCHAR *)b), 0);
    case COUNTS: return complete(irp, counts(b, room), 4 * sizeof *b);
    }
    return complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

// ---- the devices ----

// desired_access is the access mask of an open, which Wine does not tell: its
// SecurityContext is NULL. But Wine's own copy of the parameters stands on the
// stack of this thread, { 1, access, sharing, options, device }, of which all but
// the mask is known.
static ULONG desired_access(DEVICE_OBJECT *device, IO_STACK_LOCATION *stack) {
    ULONG *top, *p = (ULONG *)((ULONG_PTR)&stack & ~7), *limit = p + 0x1000;
    __asm__("movq %%gs:8,%0" : "=r"(top)); // the end of the stack
    if (limit > top) limit = top;
    for (; p + 8 <= limit; p += 2)
        if (p[0] == 1 && (USHORT)p[2] == stack->Parameters.Create.ShareAccess && p[3] == stack->Parameters.Create.Options &&
            *(DEVICE_OBJECT **)(p + 4) == device)
            return p[1];
    return ~0u;
}

// describe fills in what the server shall know of a request, and returns its
// input.
static void *describe(struct message *m, DEVICE_OBJECT *device, IRP *irp) {
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    RtlZeroMemory(m, sizeof *m);
    m->device = ((struct extension *)device->DeviceExtension)->number;
    m->kind = stack->MajorFunction;
    m->file = (ULONG_PTR)stack->FileObject->FsContext;
    m->access = (ULONG)(ULONG_PTR)stack->FileObject->FsContext2;
    m->process = (ULONG)(ULONG_PTR)PsGetCurrentProcessId();
    m->thread = (ULONG)(ULONG_PTR)PsGetCurrentThreadId();
    switch (stack->MajorFunction) {
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_FILE_SYSTEM_CONTROL:
        m->code = stack->Parameters.DeviceIoControl.IoControlCode;
        m->input = stack->Parameters.DeviceIoControl.InputBufferLength;
        m->output = stack->Parameters.DeviceIoControl.OutputBufferLength;
        return (m->code & 3) == METHOD_NEITHER ? stack->Parameters.DeviceIoControl.Type3InputBuffer : irp->AssociatedIrp.SystemBuffer;
    case IRP_MJ_READ:
        m->output = stack->Parameters.Read.Length;
        m->offset = stack->Parameters.Read.ByteOffset.QuadPart;
        return NULL;
    case IRP_MJ_WRITE:
        m->input = stack->Parameters.Write.Length;
        m->offset = stack->Parameters.Write.ByteOffset.QuadPart;
        return irp->AssociatedIrp.SystemBuffer;
    case IRP_MJ_QUERY_VOLUME_INFORMATION:
        m->code = stack->Parameters.QueryVolume.FsInformationClass;
        m->output = stack->Parameters.QueryVolume.Length;
        return NULL;
    }
    return NULL;
}

static NTSTATUS ask(const struct message *m, const void *input, IRP *irp) {
    if (!server) return complete(irp, STATUS_DEVICE_NOT_CONNECTED, 0);
    struct request *r = new_request(m, input);
    if (!r) return complete(irp, STATUS_INSUFFICIENT_RESOURCES, 0);
    r->irp = irp;
    pend(irp, cancel_request);
    InsertTailList(&waiting, &r->entry);
    deliver();
    return STATUS_PENDING;
}

static NTSTATUS WINAPI dispatch(DEVICE_OBJECT *device, IRP *irp) {
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    struct message m;
    void *input;

    if (device == control_device) {
        if (stack->MajorFunction == IRP_MJ_DEVICE_CONTROL) return control(irp);
        if (stack->MajorFunction == IRP_MJ_CLOSE && stack->FileObject == server) forget();
        return complete(irp, STATUS_SUCCESS, 0);
    }
    if (stack->MajorFunction == IRP_MJ_CREATE) {
        stack->FileObject->FsContext = (void *)(ULONG_PTR)++next_file;
        stack->FileObject->FsContext2 = (void *)(ULONG_PTR)desired_access(device, stack);
    }
    input = describe(&m, device, irp);
    switch (stack->MajorFunction) {
    case IRP_MJ_CLOSE: // Wine sends no cleanup: what still waits or is held ends here
        end_all(&held, 0, m.file, STATUS_CANCELLED);
        end_all(&waiting, 0, m.file, STATUS_CANCELLED);
        // fall through
    case IRP_MJ_CREATE: // Wine has opened the file already, whatever is answered
        tell(&m);
        return complete(irp, STATUS_SUCCESS, 0);
    }
    return ask(&m, input, irp);
}

static UNICODE_STRING control_name = RTL_CONSTANT_STRING(L"\\Device\\LabControl");
static UNICODE_STRING control_link = RTL_CONSTANT_STRING(L"\\DosDevices\\LabControl");

static void WINAPI unload(DRIVER_OBJECT *d) {
    forget();
    IoDeleteSymbolicLink(&control_link);
    IoDeleteDevice(control_device);
    for (int i = 0; i < KEPT; i++)
        if (kept[i]) free_irp(kept[i]);
}

NTSTATUS WINAPI DriverEntry(DRIVER_OBJECT *d, UNICODE_STRING *path) {
    driver = d;
    InitializeListHead(&waiting);
    InitializeListHead(&held);
    InitializeListHead(&gets);
    InitializeListHead(&links);
    NTSTATUS status = IoCreateDevice(d, sizeof(struct extension), &control_name, FILE_DEVICE_UNKNOWN, 0, FALSE, &control_device);
    if (status) return status;
    ((struct extension *)control_device->DeviceExtension)->number = 0;
    control_device->Flags &= ~DO_DEVICE_INITIALIZING;
    if ((status = IoCreateSymbolicLink(&control_link, &control_name))) return status;
    for (int i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; i++) d->MajorFunction[i] = dispatch;
    d->DriverUnload = unload;
    return STATUS_SUCCESS;
}
