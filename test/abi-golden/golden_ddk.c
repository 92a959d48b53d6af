/* SPDX-License-Identifier: Apache-2.0 */
/* The reparse points, which only the driver headers lay out. */
#include <stddef.h>
#include <ntifs.h>
#include "golden.h"

FIELD(REPARSE_DATA_BUFFER, SymbolicLinkReparseBuffer.PathBuffer)
FIELD(REPARSE_DATA_BUFFER, MountPointReparseBuffer.PathBuffer)
FIELD(REPARSE_DATA_BUFFER, GenericReparseBuffer.DataBuffer)
FIELD(REPARSE_GUID_DATA_BUFFER, GenericReparseBuffer.DataBuffer)

PART("REPARSE_DATA_BUFFER symlink", REPARSE_DATA_BUFFER, SymbolicLinkReparseBuffer.PathBuffer,
     {.ReparseTag = IO_REPARSE_TAG_SYMLINK, .ReparseDataLength = 12 + 12 + 20,
      .SymbolicLinkReparseBuffer = {.SubstituteNameOffset = 12, .SubstituteNameLength = 20, .PrintNameOffset = 0,
                                    .PrintNameLength = 12, .Flags = 1}})
BYTES("REPARSE_DATA_BUFFER symlink", struct { WCHAR print[6]; }, {L"C:\\dir"})
BYTES("REPARSE_DATA_BUFFER symlink", struct { WCHAR substitute[10]; }, {L"\\\?\?\\C:\\dir"})

PART("REPARSE_DATA_BUFFER mount point", REPARSE_DATA_BUFFER, MountPointReparseBuffer.PathBuffer,
     {.ReparseTag = IO_REPARSE_TAG_MOUNT_POINT, .ReparseDataLength = 8 + 22 + 14,
      .MountPointReparseBuffer = {.SubstituteNameOffset = 0, .SubstituteNameLength = 20, .PrintNameOffset = 22,
                                  .PrintNameLength = 12}})
BYTES("REPARSE_DATA_BUFFER mount point", struct { WCHAR substitute[11]; }, {L"\\\?\?\\C:\\dir"})
BYTES("REPARSE_DATA_BUFFER mount point", struct { WCHAR print[7]; }, {L"C:\\dir"})

PART("REPARSE_DATA_BUFFER other", REPARSE_DATA_BUFFER, GenericReparseBuffer.DataBuffer,
     {.ReparseTag = 0x80000013, .ReparseDataLength = 3})
BYTES("REPARSE_DATA_BUFFER other", struct { UCHAR data[3]; }, {{1, 2, 3}})

PART("REPARSE_GUID_DATA_BUFFER", REPARSE_GUID_DATA_BUFFER, GenericReparseBuffer.DataBuffer,
     {.ReparseTag = 0x00000042, .ReparseDataLength = 2,
      .ReparseGuid = {0x11223344, 0x5566, 0x7788, {0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x01}}})
BYTES("REPARSE_GUID_DATA_BUFFER", struct { UCHAR data[2]; }, {{4, 5}})
