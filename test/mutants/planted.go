// SPDX-License-Identifier: Apache-2.0

package main

// handWritten are mistakes that would cost somebody data, a node or a password.
// right stands once in its file.
var handWritten = []struct{ mistake, file, right, wrong string }{
	{
		"a disk with foreign content is initialized", "pkg/disk/partition.go",
		"return content.Err()", "return nil",
	}, {
		"the boot disk is partitioned", "pkg/disk/partition.go",
		"if err := d.host.CheckNotCritical(ctx, req.DiskNumber); err != nil {",
		"if err := d.host.CheckNotCritical(ctx, req.DiskNumber); err != nil && false {",
	}, {
		"Azure's own disks match a LUN", "pkg/disk/platform.go",
		"d.Address.Port != 0 && ", "",
	}, {
		"the disk behind the handle is not compared again", "internal/storage/provider.go",
		"return checkIdentity(d, id)\n}\n\n// withFreshCache", "return nil\n}\n\n// withFreshCache",
	}, {
		"the provider's row may be of a disk of another size", "internal/storage/provider.go",
		"if rowSize != uint64(size) {", "if rowSize < uint64(size) {",
	}, {
		"the last look at a layout takes one partition for none", "internal/storage/provider.go",
		"len(entries) > 0", "len(entries) > 1",
	}, {
		"a sector that cannot be read counts as clean", "internal/storage/probe.go",
		"if int64(n) == length {", "if err != nil || int64(n) == length {",
	}, {
		"a partition grows by its new length", "internal/storage/grow.go",
		"g.growPartition(length - now.Partition)", "g.growPartition(length)",
	}, {
		"mount paths are not locked", "internal/storage/mount.go",
		"return s.locks.Lock(ctx, keylock.Volume(id.String()), key)",
		"_ = key\n\treturn s.locks.Lock(ctx, keylock.Volume(id.String()))",
	}, {
		"content that Windows does not know is not formatted, so free", "pkg/volume/format.go",
		"return false, content.Err()", "return false, nil",
	}, {
		"a volume is unmounted although its flush failed", "pkg/volume/mount.go",
		"return err\n}\n\n// confirmUnmount", "return nil\n}\n\n// confirmUnmount",
	}, {
		"whatever is mounted at a path is unmounted", "pkg/volume/mount.go",
		"case mounted != id:", "case false:",
	}, {
		"a directory is emptied through a link", "pkg/filesystem/hostapi/remove.go",
		"case o.isLink():", "case false:",
	}, {
		"a live mount folder below a path is removed", "pkg/filesystem/hostapi/remove.go",
		"case alive:", "case !alive && false:",
	}, {
		"a mapping of another user is shared unproven", "pkg/smb/ensure.go",
		"case known == hostapi.SameUser:\n\t\treturn nil", "case known != hostapi.SameCredential:\n\t\treturn nil",
	}, {
		"a request shows its password", "pkg/smb/types.go",
		"secret.Mark(r.Username), secret.Mark(r.Password),", "secret.Mark(r.Username), r.Password,",
	}, {
		"a second session without multipath makes two disks of one", "pkg/iscsi/session.go",
		"if len(others) > 0 && !multipath {", "if len(others) > 1 && !multipath {",
	}, {
		"a protected service is stopped where it is a dependent", "pkg/system/stop.go",
		"return checkProtected(d.Name)", "return nil",
	}, {
		"a method is started again where the connection broke", "internal/win/wmi/worker.go",
		"row, err := w.toEnd(s, m)", "row, err := w.toEnd(s, m)\n\tif isBroken(err) {\n\t\trow, err = w.toEnd(s, m)\n\t}",
	}, {
		"a backslash ends a literal", "internal/win/wmi/query.go",
		`if s[i] == mark || s[i] == '\\' {`, `if s[i] == mark {`,
	},
}
