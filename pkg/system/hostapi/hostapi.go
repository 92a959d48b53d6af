// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what the system group asks of a host and changes there:
// one question or one request a method. The rules, the order and the waiting
// are in package system.
//
// Its methods block until Windows answers or the context ends, and are safe for
// concurrent use. Errors of Windows are bare native codes. A service is named by
// its key name, in any case; one that is not installed is NotFound. Querying a
// service is open to everybody who is logged on locally; starting and stopping
// one needs an administrator, and is PermissionDenied for services that protect
// themselves.
package hostapi

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// HostAPI is the firmware and the services of one host.
type HostAPI interface {
	// SerialNumber is the machine's serial number as its firmware gives it, but
	// for trailing NULs and bytes that are not UTF-8.
	//
	// Errors: [errdefs.ErrNotFound] where the firmware gives none.
	SerialNumber(ctx context.Context) (string, error)

	// Service is how a service is installed, and its status.
	Service(ctx context.Context, name string) (Service, error)

	// ServiceStatus is the status of a service.
	ServiceStatus(ctx context.Context, name string) (ServiceStatus, error)

	// Dependents lists the services that depend on a service and are not
	// stopped, those that would be started last first. Whether that includes
	// those that depend on it through others is not documented.
	Dependents(ctx context.Context, name string) ([]Dependent, error)

	// StartService asks for a service to be started. It returns when Windows
	// has accepted that, before the service runs.
	//
	// Errors: [AlreadyRunning], [DatabaseLocked].
	StartService(ctx context.Context, name string) error

	// StopService asks a service to stop. It returns when the service has
	// accepted that, before it is stopped.
	//
	// Errors: [DependentsRunning], [CannotAcceptControl], [NotActive].
	StopService(ctx context.Context, name string) error

	// LockServices waits until nothing else in this process starts or stops one
	// of the services.
	LockServices(ctx context.Context, names ...string) (unlock func(), err error)
}

// Service is how a service is installed, and its status.
type Service struct {
	DisplayName string
	StartType   uint32 // 0 to 4: boot, system, automatic, manual, disabled
	Delayed     bool   // automatic, but some time after the others
	Status      ServiceStatus
}

// ServiceStatus is the status of a service.
type ServiceStatus struct {
	State State
	// Driver says that the service is a driver, not a program.
	Driver bool
	// CheckPoint grows while a pending state makes progress.
	CheckPoint uint32
	// WaitHint is in what time CheckPoint grows or State changes.
	WaitHint time.Duration
	// Exit is the error with which a stopped service has ended, nil where it
	// ended in order.
	Exit error
}

// State is the state of a service; Windows has no other than these.
type State uint32

// The states.
const (
	Stopped         = State(win.SERVICE_STOPPED)
	StartPending    = State(win.SERVICE_START_PENDING)
	StopPending     = State(win.SERVICE_STOP_PENDING)
	Running         = State(win.SERVICE_RUNNING)
	ContinuePending = State(win.SERVICE_CONTINUE_PENDING)
	PausePending    = State(win.SERVICE_PAUSE_PENDING)
	Paused          = State(win.SERVICE_PAUSED)
)

// Dependent is a service that depends on another.
type Dependent struct {
	Name   string
	Driver bool
}

// Answers of Windows that mean something to the group.
const (
	AlreadyRunning      = win.ERROR_SERVICE_ALREADY_RUNNING
	DatabaseLocked      = win.ERROR_SERVICE_DATABASE_LOCKED
	DependentsRunning   = win.ERROR_DEPENDENT_SERVICES_RUNNING
	CannotAcceptControl = win.ERROR_SERVICE_CANNOT_ACCEPT_CTRL
	NotActive           = win.ERROR_SERVICE_NOT_ACTIVE
)

// New is the system of this machine: a view of one host for the whole process.
// It asks nothing. Off Windows every question is [errors.ErrUnsupported].
func New() HostAPI { return On(native.Host()) }

// On is the system of a host. It asks nothing.
func On(h *win.Host) HostAPI { return &host{h, blocking.On(h), keylock.On(h)} }

type host struct {
	*win.Host
	calls *blocking.Table
	locks *keylock.Table
}

// SerialNumber reads the structure of type 1 of the SMBIOS table, where
// Win32_BIOS has it from too (windows-api.md 12).
func (h *host) SerialNumber(ctx context.Context) (string, error) {
	return ask(ctx, h, "table", "firmware", func() (string, error) {
		raw, err := h.System.FirmwareTable(win.FirmwareRSMB, 0)
		if err != nil {
			return "", err
		}
		return serialNumber(raw)
	})
}

func serialNumber(raw []byte) (string, error) {
	table, err := abi.DecodeSMBIOS(raw)
	if err != nil {
		return "", err
	}
	system, ok, err := table.Structure(abi.SMBIOSTypeSystem)
	if err != nil {
		return "", err
	}
	serial := abi.Text(system.Text(abi.SMBIOSSerialNumber))
	if !ok || serial == "" {
		return "", fmt.Errorf("the firmware gives no serial number: %w", errdefs.ErrNotFound)
	}
	return serial, nil
}

func (h *host) Service(ctx context.Context, name string) (Service, error) {
	const access = win.ServiceQueryConfig | win.ServiceQueryStatus
	return onService(ctx, h, "configuration", name, access, func(s win.Service) (Service, error) {
		config, err := s.Config()
		if err != nil {
			return Service{}, err
		}
		found := Service{DisplayName: config.DisplayName, StartType: config.StartType}
		if config.StartType == win.SERVICE_AUTO_START && !isDriver(config.Type) {
			if found.Delayed, err = s.DelayedStart(); err != nil {
				return Service{}, err
			}
		}
		status, err := s.Status()
		found.Status = statusOf(status)
		return found, err
	})
}

func (h *host) ServiceStatus(ctx context.Context, name string) (ServiceStatus, error) {
	return onService(ctx, h, "status", name, win.ServiceQueryStatus, func(s win.Service) (ServiceStatus, error) {
		status, err := s.Status()
		return statusOf(status), err
	})
}

func statusOf(raw win.ServiceStatus) ServiceStatus {
	status := ServiceStatus{
		State:      State(raw.State),
		Driver:     isDriver(raw.Type),
		CheckPoint: raw.CheckPoint,
		WaitHint:   time.Duration(raw.WaitHint) * time.Millisecond,
	}
	switch code := win.Errno(raw.ExitCode); code {
	case 0:
	case win.ERROR_SERVICE_SPECIFIC_ERROR:
		status.Exit = fmt.Errorf("%w: %d", code, raw.ServiceExitCode)
	default:
		status.Exit = code
	}
	return status
}

func isDriver(kind uint32) bool {
	return kind&(win.SERVICE_WIN32_OWN_PROCESS|win.SERVICE_WIN32_SHARE_PROCESS) == 0
}

func (h *host) Dependents(ctx context.Context, name string) ([]Dependent, error) {
	return onService(ctx, h, "dependents", name, win.ServiceEnumerateDependents, func(s win.Service) ([]Dependent, error) {
		found, err := s.Dependents(win.SERVICE_ACTIVE)
		if err != nil {
			return nil, err
		}
		var list []Dependent
		for _, d := range found {
			list = append(list, Dependent{d.Name, isDriver(d.Status.Type)})
		}
		return list, nil
	})
}

func (h *host) StartService(ctx context.Context, name string) error {
	_, err := onService(ctx, h, "start", name, win.ServiceStart, func(s win.Service) (struct{}, error) {
		return struct{}{}, s.Start()
	})
	return err
}

func (h *host) StopService(ctx context.Context, name string) error {
	_, err := onService(ctx, h, "stop", name, win.ServiceStop, func(s win.Service) (win.ServiceStatus, error) {
		return s.Control(win.SERVICE_CONTROL_STOP)
	})
	return err
}

func (h *host) LockServices(ctx context.Context, names ...string) (func(), error) {
	keys := make([]keylock.Key, len(names))
	for i, name := range names {
		keys[i] = keylock.Service(fold(name))
	}
	return h.locks.Lock(ctx, keys...)
}

// fold is a name in the form in which two names of one service are equal. It
// may be equal for two services; then they exclude each other.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// onService runs a whole question about a service, open to close.
func onService[T any](ctx context.Context, h *host, question, name string, access win.Access, run func(win.Service) (T, error)) (T, error) {
	return ask(ctx, h, question, "service "+fold(name), func() (value T, err error) {
		s, err := h.Services.Open(name, access)
		if err != nil {
			return value, err
		}
		defer func() {
			if closeErr := s.Close(); err == nil {
				err = closeErr
			}
		}()
		return run(s)
	})
}

// ask runs a question so that the caller can leave when ctx ends.
func ask[T any](ctx context.Context, h *host, question, object string, run func() (T, error)) (T, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	return blocking.Do(ctx, h.calls, blocking.Call{Kind: question, Object: object, Group: object}, run)
}
