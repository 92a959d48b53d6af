// SPDX-License-Identifier: Apache-2.0

package system

import "fmt"

// GetBIOSSerialNumberRequest asks for the machine's serial number.
type GetBIOSSerialNumberRequest struct{}

// GetBIOSSerialNumberResponse is the machine's serial number.
type GetBIOSSerialNumberResponse struct {
	// SerialNumber is what the firmware says, placeholders such as "None"
	// too, without blanks at its end.
	SerialNumber string
}

// StartServiceRequest asks for a service to run.
type StartServiceRequest struct {
	// Name is the service's key name, such as MSiSCSI, in any case.
	Name string
}

// StartServiceResponse is empty.
type StartServiceResponse struct{}

// StopServiceRequest asks for a service to be stopped.
type StopServiceRequest struct {
	// Name is the service's key name, in any case.
	Name string

	// Force stops the services that depend on it first. They are not started
	// again.
	Force bool
}

// StopServiceResponse is empty.
type StopServiceResponse struct{}

// GetServiceRequest asks what a service is and does.
type GetServiceRequest struct {
	// Name is the service's key name, in any case. It is no pattern and no
	// display name.
	Name string
}

// GetServiceResponse is what a service is and does.
type GetServiceResponse struct {
	// DisplayName is the service's name for people.
	DisplayName string

	// StartType says when Windows starts the service.
	StartType StartType

	// Status is what the service does now.
	Status ServiceStatus

	// DelayedStart says that Windows starts an automatic service some time
	// after the others.
	DelayedStart bool
}

// ServiceStatus is what a service does.
type ServiceStatus uint32

// What a service does. No service is UNKNOWN: it stands for no answer.
const (
	SERVICE_STATUS_UNKNOWN ServiceStatus = iota
	SERVICE_STATUS_STOPPED
	SERVICE_STATUS_START_PENDING
	SERVICE_STATUS_STOP_PENDING
	SERVICE_STATUS_RUNNING
	SERVICE_STATUS_CONTINUE_PENDING
	SERVICE_STATUS_PAUSE_PENDING
	SERVICE_STATUS_PAUSED
)

var statusNames = [...]string{"Unknown", "Stopped", "Start Pending", "Stop Pending", "Running", "Continue Pending", "Pause Pending", "Paused"}

// String is the status in the words of Win32_Service.State, such as "Start
// Pending".
func (s ServiceStatus) String() string {
	if s < ServiceStatus(len(statusNames)) {
		return statusNames[s]
	}
	return fmt.Sprintf("ServiceStatus(%d)", uint32(s))
}

// StartType says when Windows starts a service.
type StartType uint32

// When Windows starts a service: as a driver with itself or early, by itself,
// when somebody asks for it, or never.
const (
	START_TYPE_BOOT StartType = iota
	START_TYPE_SYSTEM
	START_TYPE_AUTOMATIC
	START_TYPE_MANUAL
	START_TYPE_DISABLED
)

var startTypeNames = [...]string{"Boot", "System", "Automatic", "Manual", "Disabled"}

// String is the start type in PowerShell's words, such as "Automatic".
func (s StartType) String() string {
	if s < StartType(len(startTypeNames)) {
		return startTypeNames[s]
	}
	return fmt.Sprintf("StartType(%d)", uint32(s))
}
