// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// Interface is the system group as drivers use it. Its methods are upstream's
// and stay so; they are described at [System].
type Interface interface {
	// GetBIOSSerialNumber is the machine's serial number.
	GetBIOSSerialNumber(context.Context, *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error)

	// GetService says what a service is and does.
	GetService(context.Context, *GetServiceRequest) (*GetServiceResponse, error)

	// StartService starts a service and waits until it runs.
	StartService(context.Context, *StartServiceRequest) (*StartServiceResponse, error)

	// StopService stops a service and waits until it has.
	StopService(context.Context, *StopServiceRequest) (*StopServiceResponse, error)
}

// System is the system group of one host. It is safe for concurrent use.
type System struct {
	host hostapi.HostAPI
}

var _ Interface = (*System)(nil)

// New makes the system group of a host. It asks the host nothing and its error
// is always nil.
func New(hostAPI hostapi.HostAPI) (*System, error) {
	return &System{host: hostAPI}, nil
}

// GetBIOSSerialNumber is the machine's serial number as its firmware and
// Win32_BIOS give it: placeholders such as "None" or "To be filled by O.E.M."
// come through. Only blanks at the end, which WMI may or may not keep, are cut
// (behaviour.md SYS-1, windows-api.md 12).
//
// Errors: [errdefs.ErrNotFound] where the firmware gives none.
func (s *System) GetBIOSSerialNumber(ctx context.Context, req *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error) {
	const op = "system.GetBIOSSerialNumber"
	resp := &GetBIOSSerialNumberResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	serial, err := s.host.SerialNumber(ctx)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	resp.SerialNumber = strings.TrimRight(serial, " ")
	return resp, nil
}

// GetService says what a service is and does. A service with delayed start is
// START_TYPE_AUTOMATIC. Drivers are services too (behaviour.md SYS-2, SYS-3).
//
// Errors: [errdefs.ErrInvalidArgument] for the name; [errdefs.ErrNotFound];
// [errdefs.ErrInternal] for a start type or state that no Windows has.
func (s *System) GetService(ctx context.Context, req *GetServiceRequest) (*GetServiceResponse, error) {
	const op = "system.GetService"
	resp := &GetServiceResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := checkName(req.Name); err != nil {
		return resp, errdefs.Wrap(op, req.Name, err)
	}
	found, err := s.host.Service(ctx, req.Name)
	if err == nil {
		err = checkState(found.Status.State)
	}
	if err == nil && found.StartType > uint32(START_TYPE_DISABLED) {
		err = fmt.Errorf("%w: start type %d", errdefs.ErrInternal, found.StartType)
	}
	if err != nil {
		return resp, errdefs.Wrap(op, req.Name, err)
	}
	return &GetServiceResponse{
		DisplayName:  found.DisplayName,
		StartType:    StartType(found.StartType),
		Status:       ServiceStatus(found.Status.State),
		DelayedStart: found.Delayed,
	}, nil
}

// StartService starts a service, after what it depends on, and waits until it
// runs. It does nothing for one that runs (behaviour.md SYS-5 to SYS-7).
//
// Errors: [errdefs.ErrInvalidArgument] for the name; [errdefs.ErrNotFound];
// [errdefs.ErrPermissionDenied]; [errdefs.ErrFailedPrecondition] for one that is
// disabled or paused, or that lacks what it depends on;
// [errdefs.ErrServiceEnded], with the exit code, for one that ended instead;
// [errdefs.ErrUnavailable] for one that makes no progress; ctx's error, which
// says in what state the service is. It may still come to run then.
func (s *System) StartService(ctx context.Context, req *StartServiceRequest) (*StartServiceResponse, error) {
	const op = "system.StartService"
	resp := &StartServiceResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := checkName(req.Name); err != nil {
		return resp, errdefs.Wrap(op, req.Name, err)
	}
	ctx, cancel := blocking.WithBudget(ctx, serviceBudget)
	defer cancel()
	return resp, errdefs.Wrap(op, req.Name, s.start(ctx, req.Name))
}

// StopService stops a service and waits until it has. It does nothing for one
// that is stopped. Where other services depend on it and are not stopped, it
// fails and stops nothing; with Force it stops them first, those that depend on
// others before these, paused and pending ones too. Where one cannot be
// stopped, that ends it, and those before it stay stopped (behaviour.md SYS-8
// to SYS-12).
//
// Errors: [errdefs.ErrInvalidArgument] for the name; [errdefs.ErrNotFound];
// [errdefs.ErrProtectedService], before anything is changed;
// [errdefs.ErrDependentServices], naming them; [errdefs.ErrPermissionDenied];
// [errdefs.ErrFailedPrecondition] for one that takes no stop request;
// [errdefs.ErrUnavailable] for one that makes no progress or comes back; ctx's
// error, which says in what state the service is. It may still stop then.
func (s *System) StopService(ctx context.Context, req *StopServiceRequest) (*StopServiceResponse, error) {
	const op = "system.StopService"
	resp := &StopServiceResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := checkName(req.Name); err != nil {
		return resp, errdefs.Wrap(op, req.Name, err)
	}
	budget, stop := serviceBudget, s.stopAlone
	if req.Force {
		budget, stop = blocking.ChangeBudget, s.stopWithDependents
	}
	ctx, cancel := blocking.WithBudget(ctx, budget)
	defer cancel()
	return resp, errdefs.Wrap(op, req.Name, stop(ctx, req.Name))
}

// checkName refuses what cannot be the key name of a service (CreateServiceW).
func checkName(name string) error {
	const most = 256 // UTF-16 units
	switch {
	case name == "":
		return fmt.Errorf("%w: Name is empty", errdefs.ErrInvalidArgument)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: Name is not UTF-8", errdefs.ErrInvalidArgument)
	case strings.ContainsAny(name, "/\\\x00"):
		return fmt.Errorf("%w: Name holds a slash, a backslash or a NUL", errdefs.ErrInvalidArgument)
	case len(utf16.Encode([]rune(name))) > most:
		return fmt.Errorf("%w: Name is longer than %d characters", errdefs.ErrInvalidArgument, most)
	}
	return nil
}

// checkState refuses a state that no Windows has.
func checkState(state hostapi.State) error {
	if state < hostapi.Stopped || state > hostapi.Paused {
		return fmt.Errorf("%w: state %d", errdefs.ErrInternal, state)
	}
	return nil
}
