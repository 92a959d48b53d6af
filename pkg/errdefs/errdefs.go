// SPDX-License-Identifier: Apache-2.0

// Package errdefs is the error vocabulary of CSI Proxy.
//
// Every error of the library has a [Kind], named after a gRPC code, that
// [KindOf] reads, also from a bare Windows code. Test errors with [errors.Is]
// against the sentinels below, or with [errors.As] against *[Error] for the
// operation, the subject and the native code. Nothing here logs or blocks, and
// everything is safe for concurrent use.
package errdefs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Kind classifies an error.
type Kind int

// The kinds. None is the kind of a nil error.
const (
	None Kind = iota
	InvalidArgument
	NotFound
	AlreadyExists
	PermissionDenied
	FailedPrecondition
	Busy
	Unavailable
	ResourceExhausted
	OutOfRange
	Unsupported
	Internal
	Canceled
	DeadlineExceeded
)

// The sentinels of the kinds. Four of them are the standard library's own.
var (
	ErrInvalidArgument    = errors.New("invalid argument")
	ErrNotFound           = fs.ErrNotExist
	ErrAlreadyExists      = fs.ErrExist
	ErrPermissionDenied   = fs.ErrPermission
	ErrFailedPrecondition = errors.New("failed precondition")
	ErrBusy               = errors.New("busy")
	ErrUnavailable        = errors.New("unavailable")
	ErrResourceExhausted  = errors.New("resource exhausted")
	ErrOutOfRange         = errors.New("out of range")
	ErrUnsupported        = errors.ErrUnsupported
	ErrInternal           = errors.New("internal error")
)

// Reasons: sentinels that say more than their kind. Each also matches the
// sentinel of its kind.
var (
	// ErrDiskOffline: the disk is offline, so it has no volumes.
	ErrDiskOffline error = &reason{FailedPrecondition, "disk is offline"}
	// ErrReadOnly: the disk or volume is read-only.
	ErrReadOnly error = &reason{FailedPrecondition, "read-only"}
	// ErrCriticalDisk: Windows itself needs the disk or volume.
	ErrCriticalDisk error = &reason{FailedPrecondition, "in use by Windows itself"}
	// ErrForeignContent: the media holds something that Windows does not
	// mount, such as ext4 or LUKS.
	ErrForeignContent error = &reason{FailedPrecondition, "foreign content"}
	// ErrDamaged: the media holds a Windows signature that Windows does not
	// recognise.
	ErrDamaged error = &reason{FailedPrecondition, "damaged content"}
	// ErrUnknownContent: the media could not be read, so nothing is known.
	ErrUnknownContent error = &reason{FailedPrecondition, "unknown content"}
	// ErrOtherDisk: the number or handle names another disk than before.
	ErrOtherDisk error = &reason{FailedPrecondition, "another disk"}
	// ErrOtherVolume: another volume is mounted at the path.
	ErrOtherVolume error = &reason{FailedPrecondition, "another volume is mounted there"}
	// ErrNotMounted: no live volume is mounted at the path.
	ErrNotMounted error = &reason{NotFound, "no volume is mounted"}
	// ErrMountedBelow: a volume is mounted below a path to be removed.
	ErrMountedBelow error = &reason{FailedPrecondition, "a volume is mounted below"}
	// ErrLinkLoop: a chain of links is too long or leads back to itself.
	ErrLinkLoop error = &reason{FailedPrecondition, "too many links"}
	// ErrCredentialConflict: the share or its server is in use with a
	// credential that is not known to be the request's.
	ErrCredentialConflict error = &reason{FailedPrecondition, "in use with another credential"}
	// ErrProtectedService: the service is never stopped, because Windows or
	// the node needs it.
	ErrProtectedService error = &reason{PermissionDenied, "protected service, never stopped"}
	// ErrDependentServices: other services depend on the service and run.
	ErrDependentServices error = &reason{FailedPrecondition, "dependent services are not stopped"}
	// ErrServiceEnded: the service was started and ended again.
	ErrServiceEnded error = &reason{Unavailable, "service was started and ended again"}
	// ErrISCSIStopped: the iSCSI initiator service does not run.
	ErrISCSIStopped error = &reason{Unavailable, "the iSCSI initiator service (MSiSCSI) does not run"}
	// ErrISCSIOtherPortal: the iSCSI target is connected through another
	// portal, and no multipath driver makes one disk of two sessions.
	ErrISCSIOtherPortal error = &reason{FailedPrecondition, "the iSCSI target is connected through another portal"}
	// ErrISCSIInUse: a disk of the iSCSI session is in use.
	ErrISCSIInUse error = &reason{FailedPrecondition, "a disk of the iSCSI session is in use"}
)

var sentinels = map[Kind]error{
	InvalidArgument:    ErrInvalidArgument,
	NotFound:           ErrNotFound,
	AlreadyExists:      ErrAlreadyExists,
	PermissionDenied:   ErrPermissionDenied,
	FailedPrecondition: ErrFailedPrecondition,
	Busy:               ErrBusy,
	Unavailable:        ErrUnavailable,
	ResourceExhausted:  ErrResourceExhausted,
	OutOfRange:         ErrOutOfRange,
	Unsupported:        ErrUnsupported,
	Internal:           ErrInternal,
	Canceled:           context.Canceled,
	DeadlineExceeded:   context.DeadlineExceeded,
}

var kindNames = map[Kind]string{
	None:               "None",
	InvalidArgument:    "InvalidArgument",
	NotFound:           "NotFound",
	AlreadyExists:      "AlreadyExists",
	PermissionDenied:   "PermissionDenied",
	FailedPrecondition: "FailedPrecondition",
	Busy:               "Busy",
	Unavailable:        "Unavailable",
	ResourceExhausted:  "ResourceExhausted",
	OutOfRange:         "OutOfRange",
	Unsupported:        "Unsupported",
	Internal:           "Internal",
	Canceled:           "Canceled",
	DeadlineExceeded:   "DeadlineExceeded",
}

// String is the kind's name, for example "NotFound".
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

type reason struct {
	kind Kind
	text string
}

func (r *reason) Error() string { return r.text }

func (r *reason) Unwrap() error { return sentinels[r.kind] }

// Error is an operation that failed on a subject.
type Error struct {
	Kind    Kind
	Op      string // "volume.ResizeVolume"
	Subject string // what it was done to; no secret
	Err     error  // the cause, never nil
}

// Error reads: op "subject": cause (native code).
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Subject != "" {
		b.WriteString(" " + quote(e.Subject))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	var inner *Error
	if n, ok := NativeOf(e.Err); ok && n.Facility == Win32 && !errors.As(e.Err, &inner) {
		fmt.Fprintf(&b, " (%s)", n)
	}
	return b.String()
}

// quote quotes a subject, leaving the backslashes of Windows paths as they are.
func quote(subject string) string {
	return strings.ReplaceAll(strconv.Quote(subject), `\\`, `\`)
}

// Unwrap yields the sentinel of the kind and the cause.
func (e *Error) Unwrap() []error {
	if s := sentinels[e.Kind]; s != nil {
		return []error{s, e.Err}
	}
	return []error{e.Err}
}

// Wrap says which operation on which subject failed with err, and keeps err's
// kind. It returns nil for a nil err, and a context error untouched.
func Wrap(op, subject string, err error) error {
	if err == nil || err == context.Canceled || err == context.DeadlineExceeded { //nolint:errorlint // itself, not what wraps it
		return err
	}
	return &Error{Kind: KindOf(err), Op: op, Subject: subject, Err: err}
}

// As wraps err with a kind that the caller knows better. It returns nil for a
// nil err.
func As(kind Kind, op, subject string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kind, Op: op, Subject: subject, Err: err}
}

// New makes an error of a kind from a message, which may wrap others with %w.
func New(kind Kind, op, subject, format string, args ...any) error {
	return &Error{Kind: kind, Op: op, Subject: subject, Err: fmt.Errorf(format, args...)}
}

// NilRequest is the InvalidArgument of an operation that was given no request.
func NilRequest(op string) error {
	return New(InvalidArgument, op, "", "request is nil")
}

// KindOf is the kind of an error: of the outermost *Error in it, else of a
// reason, a context error, a native code or a standard sentinel; Internal where
// nothing is known.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Kind
	}
	if r := (*reason)(nil); errors.As(err, &r) {
		return r.kind
	}
	if errors.Is(err, context.Canceled) {
		return Canceled
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return DeadlineExceeded
	}
	if n, ok := NativeOf(err); ok {
		return n.Kind()
	}
	for kind := InvalidArgument; kind <= Internal; kind++ {
		if errors.Is(err, sentinels[kind]) {
			return kind
		}
	}
	return Internal
}
