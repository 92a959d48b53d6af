// SPDX-License-Identifier: Apache-2.0

package win

// Services is the service control manager (windows-api.md 11.1).
type Services interface {
	// Open opens an installed service by its key name, in any case
	// (OpenSCManagerW with the right to connect alone, and OpenServiceW).
	Open(name string, access Access) (Service, error)
}

// Rights on a service (winsvc.h).
const (
	ServiceQueryConfig         Access = 0x01
	ServiceQueryStatus         Access = 0x04
	ServiceEnumerateDependents Access = 0x08
	ServiceStart               Access = 0x10
	ServiceStop                Access = 0x20
)

// Service is an open service. Its methods need the rights that it was opened
// with, and block until the service control manager answers. It is safe for
// concurrent use.
type Service interface {
	// Config is how the service is installed (QueryServiceConfigW).
	Config() (ServiceConfig, error)
	// DelayedStart reports whether Windows starts the service some time after
	// the others (QueryServiceConfig2W, SERVICE_CONFIG_DELAYED_AUTO_START_INFO).
	DelayedStart() (bool, error)
	// Status is the state of the service now (QueryServiceStatusEx).
	Status() (ServiceStatus, error)
	// Dependents lists the services that depend on this one and are in one of
	// the given states, in reverse start order (EnumDependentServicesW).
	Dependents(states uint32) ([]DependentService, error)
	// Start asks for the service to be started, without arguments
	// (StartServiceW). It returns before the service runs.
	Start() error
	// Control sends the service a control code (ControlService). The status is
	// valid beside ERROR_INVALID_SERVICE_CONTROL,
	// ERROR_SERVICE_CANNOT_ACCEPT_CTRL and ERROR_SERVICE_NOT_ACTIVE too. Its
	// process id and flags are zero.
	Control(code uint32) (ServiceStatus, error)
	Close() error
}

// ServiceConfig is what QueryServiceConfigW reports.
type ServiceConfig struct {
	Type        uint32 // SERVICE_WIN32_OWN_PROCESS …
	StartType   uint32 // SERVICE_BOOT_START …
	DisplayName string
}

// ServiceStatus is SERVICE_STATUS_PROCESS.
type ServiceStatus struct {
	Type             uint32
	State            uint32 // SERVICE_STOPPED …
	ControlsAccepted uint32
	ExitCode         uint32 // Win32; ERROR_SERVICE_SPECIFIC_ERROR: see the next
	ServiceExitCode  uint32
	CheckPoint       uint32 // grows while a pending state makes progress
	WaitHint         uint32 // milliseconds until CheckPoint grows or State changes
	ProcessID        uint32
	Flags            uint32
}

// DependentService is ENUM_SERVICE_STATUS. Process id and flags of its status
// are zero.
type DependentService struct {
	Name   string // key name
	Status ServiceStatus
}

// Types of services (winnt.h).
const (
	SERVICE_KERNEL_DRIVER       uint32 = 0x01
	SERVICE_FILE_SYSTEM_DRIVER  uint32 = 0x02
	SERVICE_WIN32_OWN_PROCESS   uint32 = 0x10
	SERVICE_WIN32_SHARE_PROCESS uint32 = 0x20
)

// Start types.
const (
	SERVICE_BOOT_START   uint32 = 0
	SERVICE_SYSTEM_START uint32 = 1
	SERVICE_AUTO_START   uint32 = 2
	SERVICE_DEMAND_START uint32 = 3
	SERVICE_DISABLED     uint32 = 4
)

// States of a service.
const (
	SERVICE_STOPPED          uint32 = 1
	SERVICE_START_PENDING    uint32 = 2
	SERVICE_STOP_PENDING     uint32 = 3
	SERVICE_RUNNING          uint32 = 4
	SERVICE_CONTINUE_PENDING uint32 = 5
	SERVICE_PAUSE_PENDING    uint32 = 6
	SERVICE_PAUSED           uint32 = 7
)

// States that Dependents takes; an active service is any that is not stopped.
const (
	SERVICE_ACTIVE   uint32 = 1
	SERVICE_INACTIVE uint32 = 2
)

// The control that stops a service, and the bit of what a service accepts.
const (
	SERVICE_CONTROL_STOP uint32 = 1
	SERVICE_ACCEPT_STOP  uint32 = 1
)

// FirmwareRSMB is the provider 'RSMB' of System.FirmwareTable.
const FirmwareRSMB uint32 = 0x52534D42
