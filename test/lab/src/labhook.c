// SPDX-License-Identifier: Apache-2.0

// labhook.dll: carries to a node, in the process that loads it, what Wine 10
// sends to no driver: the status of an open, files, directories, reparse points,
// links and mount points. It decides nothing but what belongs to the node: drive
// letters (without C:\windows and Wine's own Z:), volumes, disks, UNC paths.
//
// Calls of ntdll that concern other files go on to ntdll. The functions of
// kernel32 are replaced while the hook is there.
//
// The program answers on threads of its own: it may be written in a language
// whose stacks move when they are called back on, with the caller's buffers.
#include <windows.h>
#include <winternl.h>

// ---- calls on their way ----

enum {
    OPEN, CLOSE, QUERY, SET, LIST, CONTROL,                                          // end with an NTSTATUS
    VOLUME_AT, SET_POINT, DELETE_POINT, PATHS, INFORMATION, FREE_SPACE, LINK, FINAL_PATH, // with a Win32 code
};

struct call {
    ULONG_PTR kind, arguments[7], result;
    struct call *next;
    BOOL done;
};

static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE arrived = CONDITION_VARIABLE_INIT, answered = CONDITION_VARIABLE_INIT;
static struct call *first, **last = &first;
static BOOL stopped;

// lab_next waits for a call; NULL says that there will be none.
__declspec(dllexport) struct call *lab_next(void) {
    AcquireSRWLockExclusive(&lock);
    while (!first && !stopped) SleepConditionVariableSRW(&arrived, &lock, INFINITE, 0);
    struct call *c = first;
    if (c && !(first = c->next)) last = &first;
    ReleaseSRWLockExclusive(&lock);
    return c;
}

// lab_answer lets the caller go on.
__declspec(dllexport) void lab_answer(struct call *c) {
    AcquireSRWLockExclusive(&lock);
    c->done = TRUE;
    ReleaseSRWLockExclusive(&lock);
    WakeAllConditionVariable(&answered);
}

static ULONG_PTR carry(ULONG_PTR kind, const ULONG_PTR arguments[7]) {
    struct call c = {kind};
    memcpy(c.arguments, arguments, sizeof c.arguments);
    AcquireSRWLockExclusive(&lock);
    *last = &c;
    last = &c.next;
    WakeConditionVariable(&arrived);
    while (!c.done) SleepConditionVariableSRW(&answered, &lock, INFINITE, 0);
    ReleaseSRWLockExclusive(&lock);
    return c.result;
}

#define CARRY(kind, ...) carry(kind, (const ULONG_PTR[7]){__VA_ARGS__})
#define P(pointer) ((ULONG_PTR)(pointer))

// What a file shall be opened with, and whether it became a file of the node.
struct how {
    ULONG access, share, disposition, options;
    ULONG is_file;
};

// ---- the node's handles: a bit for each ----

static volatile LONG files[0x10000 / 32];

static LONG *word(HANDLE h, LONG *bit) {
    ULONG_PTR n = (ULONG_PTR)h / 4;
    *bit = 1 << (n % 32);
    return n < 0x10000 ? (LONG *)&files[n / 32] : NULL;
}

static BOOL is_file(HANDLE h) {
    LONG bit, *w = word(h, &bit);
    return w && (*w & bit);
}

static void add_file(HANDLE h) {
    LONG bit, *w = word(h, &bit);
    if (w) InterlockedOr(w, bit);
}

static BOOL remove_file(HANDLE h) {
    LONG bit, *w = word(h, &bit);
    return w && (InterlockedAnd(w, ~bit) & bit);
}

// ---- what belongs to the node ----

static BOOL starts(const WCHAR *s, ULONG units, const WCHAR *prefix) {
    for (; *prefix; s++, prefix++, units--) {
        if (!units) return FALSE;
        WCHAR c = *s >= 'A' && *s <= 'Z' ? *s | 0x20 : *s;
        if (c != *prefix) return FALSE;
    }
    return TRUE;
}

static BOOL has_class(const WCHAR *s, ULONG units) { // as an interface path: …#{class}
    for (; units > 1; s++, units--)
        if (s[0] == '#' && s[1] == '{') return TRUE;
    return FALSE;
}

static BOOL is_node(const WCHAR *s, ULONG units) {
    if (!starts(s, units, L"\\??\\")) return FALSE;
    s += 4;
    units -= 4;
    if (units >= 2 && s[1] == ':') return !starts(s, units, L"z:") && !starts(s, units, L"c:\\windows");
    return starts(s, units, L"physicaldrive") || starts(s, units, L"volume{") || starts(s, units, L"harddiskvolume") ||
           starts(s, units, L"mountpointmanager") || starts(s, units, L"unc\\") ||
           starts(s, units, L"globalroot\\device\\harddiskvolume") || has_class(s, units);
}

// ---- ntdll ----

static NTSTATUS(NTAPI *nt_create)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, LARGE_INTEGER *, ULONG, ULONG, ULONG, ULONG, void *, ULONG);
static NTSTATUS(NTAPI *nt_close)(HANDLE);
static NTSTATUS(NTAPI *nt_query)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
static NTSTATUS(NTAPI *nt_set)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
static NTSTATUS(NTAPI *nt_list)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, ULONG, BOOLEAN, UNICODE_STRING *, BOOLEAN);
static NTSTATUS(NTAPI *nt_control)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *, ULONG);

static NTSTATUS finish(IO_STATUS_BLOCK *io, NTSTATUS status, ULONG_PTR information) {
    io->Status = status;
    io->Information = information;
    return status;
}

static NTSTATUS NTAPI create(HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *object, IO_STATUS_BLOCK *io, LARGE_INTEGER *size,
                             ULONG attributes, ULONG share, ULONG disposition, ULONG options, void *ea, ULONG ea_length) {
    UNICODE_STRING *name = object ? object->ObjectName : NULL;
    ULONG units = name ? name->Length / 2 : 0;
    if (!name || !(object->RootDirectory ? is_file(object->RootDirectory) : is_node(name->Buffer, units)))
        return nt_create(handle, access, object, io, size, attributes, share, disposition, options, ea, ea_length);
    struct how how = {access, share, disposition, options, 0};
    NTSTATUS status = (NTSTATUS)CARRY(OPEN, P(object->RootDirectory), P(name->Buffer), units, P(&how), P(handle));
    if (!status && how.is_file) add_file(*handle);
    return finish(io, status, 0);
}

static NTSTATUS NTAPI close(HANDLE handle) {
    if (remove_file(handle)) CARRY(CLOSE, P(handle));
    return nt_close(handle);
}

static NTSTATUS NTAPI query(HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length, ULONG class) {
    ULONG_PTR n = 0;
    if (!is_file(handle)) return nt_query(handle, io, buffer, length, class);
    NTSTATUS status = (NTSTATUS)CARRY(QUERY, P(handle), class, P(buffer), length, P(&n));
    return finish(io, status, n);
}

static NTSTATUS NTAPI set(HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length, ULONG class) {
    if (!is_file(handle)) return nt_set(handle, io, buffer, length, class);
    return finish(io, (NTSTATUS)CARRY(SET, P(handle), class, P(buffer), length), 0);
}

static NTSTATUS NTAPI list(HANDLE handle, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, void *buffer, ULONG length,
                           ULONG class, BOOLEAN single, UNICODE_STRING *mask, BOOLEAN restart) {
    ULONG_PTR n = 0;
    if (!is_file(handle)) return nt_list(handle, event, apc, context, io, buffer, length, class, single, mask, restart);
    NTSTATUS status = (NTSTATUS)CARRY(LIST, P(handle), class, P(buffer), length, restart, P(&n));
    return finish(io, status, n);
}

static NTSTATUS NTAPI control(HANDLE handle, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, ULONG code, void *in,
                              ULONG in_length, void *out, ULONG out_length) {
    ULONG_PTR n = 0;
    if (!is_file(handle)) return nt_control(handle, event, apc, context, io, code, in, in_length, out, out_length);
    NTSTATUS status = (NTSTATUS)CARRY(CONTROL, P(handle), code, P(in), in_length, P(out), out_length, P(&n));
    return finish(io, status, n);
}

// ---- kernel32 ----

static BOOL ended(ULONG_PTR code) {
    if (code) SetLastError((DWORD)code);
    return !code;
}

static BOOL WINAPI volume_at(const WCHAR *point, WCHAR *volume, DWORD units) { return ended(CARRY(VOLUME_AT, P(point), P(volume), units)); }

static BOOL WINAPI set_point(const WCHAR *point, const WCHAR *volume) { return ended(CARRY(SET_POINT, P(point), P(volume))); }

static BOOL WINAPI delete_point(const WCHAR *point) { return ended(CARRY(DELETE_POINT, P(point))); }

static BOOL WINAPI paths(const WCHAR *volume, WCHAR *list, DWORD units, DWORD *used) {
    return ended(CARRY(PATHS, P(volume), P(list), units, P(used)));
}

static BOOL WINAPI information(const WCHAR *root, WCHAR *label, DWORD label_units, DWORD *serial, DWORD *longest, DWORD *flags,
                               WCHAR *system, DWORD system_units) {
    if (longest) *longest = 255;
    return ended(CARRY(INFORMATION, P(root), P(label), label_units, P(serial), P(flags), P(system), system_units));
}

static BOOL WINAPI free_space(const WCHAR *directory, ULARGE_INTEGER *available, ULARGE_INTEGER *total, ULARGE_INTEGER *free) {
    return ended(CARRY(FREE_SPACE, P(directory), P(available), P(total), P(free)));
}

static BOOLEAN WINAPI symbolic_link(const WCHAR *link, const WCHAR *target, DWORD flags) {
    return ended(CARRY(LINK, P(link), P(target), flags));
}

static DWORD WINAPI final_path(HANDLE file, WCHAR *path, DWORD units, DWORD flags) {
    DWORD used = 0;
    return ended(CARRY(FINAL_PATH, P(file), P(path), units, flags, P(&used))) ? used : 0;
}

// ---- patches ----

// A function, how it begins in Wine 10 (?: any byte), and what it becomes.
struct patch {
    const char *module, *name, *begins;
    void *to, **original; // original: where the old function is kept callable
    BYTE *at, saved[12];
};

// A system call of ntdll stands alone, so that a copy of it works elsewhere.
#define SYSTEM_CALL "\x4c\x8b\xd1\xb8????\xf6\x04\x25\x08\x03\xfe\x7f\x01\x75\x03\x0f\x05\xc3"
#define SYSTEM_CALL_LENGTH 32
// A function of kernel32 that goes on to kernelbase.
#define FORWARD "\x48\x8d\xa4\x24????\xff\x25"
// SetVolumeMountPointW, which Wine has no more than a name of.
#define STUB "\x56\x53\x48\x83\xec\x38\x48\x89\xcb\xf6\x05"

static struct patch patches[] = {
    {"ntdll", "NtCreateFile", SYSTEM_CALL, create, (void **)&nt_create},
    {"ntdll", "NtClose", SYSTEM_CALL, close, (void **)&nt_close},
    {"ntdll", "NtQueryInformationFile", SYSTEM_CALL, query, (void **)&nt_query},
    {"ntdll", "NtSetInformationFile", SYSTEM_CALL, set, (void **)&nt_set},
    {"ntdll", "NtQueryDirectoryFile", SYSTEM_CALL, list, (void **)&nt_list},
    {"ntdll", "NtFsControlFile", SYSTEM_CALL, control, (void **)&nt_control},
    {"kernel32", "GetVolumeNameForVolumeMountPointW", FORWARD, volume_at},
    {"kernel32", "SetVolumeMountPointW", STUB, set_point},
    {"kernel32", "DeleteVolumeMountPointW", FORWARD, delete_point},
    {"kernel32", "GetVolumePathNamesForVolumeNameW", FORWARD, paths},
    {"kernel32", "GetVolumeInformationW", FORWARD, information},
    {"kernel32", "GetDiskFreeSpaceExW", FORWARD, free_space},
    {"kernel32", "CreateSymbolicLinkW", FORWARD, symbolic_link},
    {"kernel32", "GetFinalPathNameByHandleW", FORWARD, final_path},
};
#define PATCHES ((int)(sizeof patches / sizeof *patches))

static BOOL begins(const BYTE *code, const char *pattern) {
    for (; *pattern; code++, pattern++)
        if (*pattern != '?' && *code != (BYTE)*pattern) return FALSE;
    return TRUE;
}

static void write_code(BYTE *at, const BYTE *code, int n) {
    DWORD before;
    VirtualProtect(at, n, PAGE_EXECUTE_READWRITE, &before);
    memcpy(at, code, n);
    VirtualProtect(at, n, before, &before);
}

static void apply(struct patch *p) {
    BYTE jump[sizeof p->saved] = {0x48, 0xb8, [10] = 0xff, [11] = 0xe0}; // mov rax, to; jmp rax
    memcpy(jump + 2, &p->to, 8);
    memcpy(p->saved, p->at, sizeof p->saved);
    write_code(p->at, jump, sizeof jump);
}

// lab_hook puts the hook in. It returns NULL, or the name of the function that
// does not begin as in Wine 10, and then it has changed nothing.
__declspec(dllexport) const char *lab_hook(void) {
    static BYTE *page;
    if (!page && !(page = VirtualAlloc(NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE))) return "VirtualAlloc";
    BYTE *copies = page;
    for (int i = 0; i < PATCHES; i++) {
        struct patch *p = &patches[i];
        p->at = (BYTE *)GetProcAddress(GetModuleHandleA(p->module), p->name);
        if (!p->at || !begins(p->at, p->begins)) return p->name;
        if (!p->original) continue;
        *p->original = memcpy(copies, p->at, SYSTEM_CALL_LENGTH);
        copies += SYSTEM_CALL_LENGTH;
    }
    stopped = FALSE;
    for (int i = 0; i < PATCHES; i++) apply(&patches[i]);
    return NULL;
}

// lab_unhook takes it out again. The copies of the system calls stay, and so must
// the DLL: a thread may be within one.
__declspec(dllexport) void lab_unhook(void) {
    for (int i = 0; i < PATCHES; i++) write_code(patches[i].at, patches[i].saved, sizeof patches[i].saved);
    AcquireSRWLockExclusive(&lock);
    stopped = TRUE;
    ReleaseSRWLockExclusive(&lock);
    WakeAllConditionVariable(&arrived);
}
