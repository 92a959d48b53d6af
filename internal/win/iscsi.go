// SPDX-License-Identifier: Apache-2.0

package win

import "fmt"

// ISDSC is a status of the iSCSI initiator (windows-api.md 10.5), 0xEFFF0000 and
// up. Over WMI the same number comes as HRESULT, as ReturnValue or in the error
// object.
type ISDSC uint32

func (c ISDSC) Error() string {
	if s, ok := isdscTexts[c]; ok {
		return fmt.Sprintf("%s (0x%08X)", s, uint32(c))
	}
	return fmt.Sprintf("iSCSI initiator status 0x%08X", uint32(c))
}

// ISDSCOf finds a status of the iSCSI initiator in a number that WMI returned.
func ISDSCOf(code uint32) (status ISDSC, ok bool) {
	return ISDSC(code), code&0xFFFF_0000 == 0xEFFF_0000
}

// Statuses that have a meaning of their own above.
const (
	ISDSC_NON_SPECIFIC_ERROR            ISDSC = 0xEFFF_0001
	ISDSC_LOGIN_FAILED                  ISDSC = 0xEFFF_0002
	ISDSC_CONNECTION_FAILED             ISDSC = 0xEFFF_0003
	ISDSC_INITIATOR_NODE_NOT_FOUND      ISDSC = 0xEFFF_0005
	ISDSC_TARGET_MOVED_TEMPORARILY      ISDSC = 0xEFFF_0006
	ISDSC_AUTHENTICATION_FAILURE        ISDSC = 0xEFFF_0009
	ISDSC_AUTHORIZATION_FAILURE         ISDSC = 0xEFFF_000A
	ISDSC_NOT_FOUND                     ISDSC = 0xEFFF_000B
	ISDSC_TARGET_REMOVED                ISDSC = 0xEFFF_000C
	ISDSC_TOO_MANY_CONNECTIONS          ISDSC = 0xEFFF_000E
	ISDSC_TARGET_ERROR                  ISDSC = 0xEFFF_0012
	ISDSC_SERVICE_UNAVAILABLE           ISDSC = 0xEFFF_0013
	ISDSC_OUT_OF_RESOURCES              ISDSC = 0xEFFF_0014
	ISDSC_CONNECTION_ALREADY_EXISTS     ISDSC = 0xEFFF_0015
	ISDSC_SESSION_ALREADY_EXISTS        ISDSC = 0xEFFF_0016
	ISDSC_INITIATOR_INSTANCE_NOT_FOUND  ISDSC = 0xEFFF_0017
	ISDSC_TARGET_ALREADY_EXISTS         ISDSC = 0xEFFF_0018
	ISDSC_INVALID_SESSION_ID            ISDSC = 0xEFFF_001C
	ISDSC_TOO_MANY_SESSIONS             ISDSC = 0xEFFF_001E
	ISDSC_SESSION_BUSY                  ISDSC = 0xEFFF_001F
	ISDSC_LOGON_FAILED                  ISDSC = 0xEFFF_0022
	ISDSC_SEND_FAILED                   ISDSC = 0xEFFF_0023
	ISDSC_TRANSPORT_ERROR               ISDSC = 0xEFFF_0024
	ISDSC_AUTH_INFO_UNAVAILABLE         ISDSC = 0xEFFF_0028
	ISDSC_TARGET_NOT_FOUND              ISDSC = 0xEFFF_0029
	ISDSC_PORTAL_ALREADY_EXISTS         ISDSC = 0xEFFF_0032
	ISDSC_NO_AUTH_INFO                  ISDSC = 0xEFFF_0034
	ISDSC_NOT_SUPPORTED                 ISDSC = 0xEFFF_0037
	ISDSC_TARGET_OUT_OF_RESOURCES       ISDSC = 0xEFFF_0038
	ISDSC_SERVICE_DID_NOT_RESPOND       ISDSC = 0xEFFF_0039
	ISDSC_NO_PORTAL                     ISDSC = 0xEFFF_003C
	ISDSC_SERVICE_NOT_RUNNING           ISDSC = 0xEFFF_003E
	ISDSC_TARGET_ALREADY_LOGGED_IN      ISDSC = 0xEFFF_003F
	ISDSC_DEVICE_BUSY_ON_SESSION        ISDSC = 0xEFFF_0040
	ISDSC_COULD_NOT_REMOVE_LOGIN        ISDSC = 0xEFFF_0042
	ISDSC_PORTAL_NOT_FOUND              ISDSC = 0xEFFF_0043
	ISDSC_INITIATOR_NOT_FOUND           ISDSC = 0xEFFF_0044
	ISDSC_PERSISTENT_LOGIN_TIMEOUT      ISDSC = 0xEFFF_0047
	ISDSC_SHORT_CHAP_SECRET             ISDSC = 0xEFFF_0048
	ISDSC_INVALID_CHAP_SECRET           ISDSC = 0xEFFF_004A
	ISDSC_INVALID_TARGET_CHAP_SECRET    ISDSC = 0xEFFF_004B
	ISDSC_INVALID_INITIATOR_CHAP_SECRET ISDSC = 0xEFFF_004C
	ISDSC_INVALID_CHAP_USER_NAME        ISDSC = 0xEFFF_004D
	ISDSC_INVALID_AUTHENTICATION_TYPE   ISDSC = 0xEFFF_004E
	ISDSC_INVALID_TARGET_MAPPING        ISDSC = 0xEFFF_004F
	ISDSC_INVALID_TARGET_ID             ISDSC = 0xEFFF_0050
	ISDSC_INVALID_ISCSI_NAME            ISDSC = 0xEFFF_0051
)

// isdscTexts are short words for them. That of TARGET_ALREADY_LOGGED_IN is
// Windows' own, which drivers search for (behaviour.md TXT-5).
var isdscTexts = map[ISDSC]string{
	ISDSC_NON_SPECIFIC_ERROR:            "iSCSI: failed without a reason given",
	ISDSC_LOGIN_FAILED:                  "iSCSI: login failed",
	ISDSC_CONNECTION_FAILED:             "iSCSI: cannot connect to the target portal",
	ISDSC_TARGET_MOVED_TEMPORARILY:      "iSCSI: the target has moved temporarily",
	ISDSC_AUTHENTICATION_FAILURE:        "iSCSI: authentication failed",
	ISDSC_AUTHORIZATION_FAILURE:         "iSCSI: the target does not admit this initiator",
	ISDSC_NOT_FOUND:                     "iSCSI: the portal does not know the target",
	ISDSC_TARGET_REMOVED:                "iSCSI: the target was removed",
	ISDSC_TARGET_ERROR:                  "iSCSI: the target failed",
	ISDSC_SERVICE_UNAVAILABLE:           "iSCSI: the target is not available",
	ISDSC_SESSION_ALREADY_EXISTS:        "iSCSI: the session exists already",
	ISDSC_INVALID_SESSION_ID:            "iSCSI: no such session",
	ISDSC_TRANSPORT_ERROR:               "iSCSI: the connection broke",
	ISDSC_TARGET_NOT_FOUND:              "iSCSI: target not found or hidden from this initiator",
	ISDSC_PORTAL_ALREADY_EXISTS:         "iSCSI: the target portal is registered already",
	ISDSC_SERVICE_DID_NOT_RESPOND:       "iSCSI: the initiator service does not respond",
	ISDSC_SERVICE_NOT_RUNNING:           "iSCSI: the initiator service does not run",
	ISDSC_TARGET_ALREADY_LOGGED_IN:      "The target has already been logged in via an iSCSI session",
	ISDSC_DEVICE_BUSY_ON_SESSION:        "iSCSI: a disk of the session is in use",
	ISDSC_PORTAL_NOT_FOUND:              "iSCSI: the target portal is not registered",
	ISDSC_SHORT_CHAP_SECRET:             "iSCSI: a CHAP secret is shorter than 12 bytes",
	ISDSC_INVALID_CHAP_SECRET:           "iSCSI: a CHAP secret is not valid",
	ISDSC_INVALID_TARGET_CHAP_SECRET:    "iSCSI: the target's CHAP secret is not valid",
	ISDSC_INVALID_INITIATOR_CHAP_SECRET: "iSCSI: the initiator's CHAP secret is not valid",
	ISDSC_INVALID_CHAP_USER_NAME:        "iSCSI: the CHAP user is not valid",
	ISDSC_INVALID_ISCSI_NAME:            "iSCSI: the target's name is not valid",
}
