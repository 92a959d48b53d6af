// SPDX-License-Identifier: Apache-2.0

package intercept

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win"

type files struct {
	inner  win.Files
	around Around
}

func (f *files) Open(directory win.File, name string, how win.OpenFile) (win.File, error) {
	path := name
	if d, ok := directory.(*file); ok { // the host below knows only its own
		directory, path = d.inner, d.path+`\`+name
	}
	opened, err := open(f.around, Call{Method: "Files.Open", Subject: path},
		func() (win.File, error) { return f.inner.Open(directory, name, how) },
		func(opened win.File) { _ = opened.Close() })
	if err != nil {
		return nil, err
	}
	return &file{opened, f.around, path}, nil
}

func (f *files) SymbolicLink(link, target string, flags uint32) error {
	return tell(f.around, Call{Method: "Files.SymbolicLink", Subject: link, Code: flags},
		func() error { return f.inner.SymbolicLink(link, target, flags) })
}

type file struct {
	inner  win.File
	around Around
	path   string
}

func (f *file) Control(code uint32, in, out []byte) (int, error) {
	return fill(f.around, Call{Method: "File.Control", Subject: f.path, Code: code}, out,
		func() (int, error) { return f.inner.Control(code, in, out) })
}

func (f *file) Information(class uint32, buf []byte) (int, error) {
	return fill(f.around, Call{Method: "File.Information", Subject: f.path, Code: class}, buf,
		func() (int, error) { return f.inner.Information(class, buf) })
}

func (f *file) SetInformation(class uint32, buf []byte) error {
	return tell(f.around, Call{Method: "File.SetInformation", Subject: f.path, Code: class},
		func() error { return f.inner.SetInformation(class, buf) })
}

func (f *file) List(buf []byte, restart bool) (int, error) {
	return fill(f.around, Call{Method: "File.List", Subject: f.path, Continues: !restart}, buf,
		func() (int, error) { return f.inner.List(buf, restart) })
}

func (f *file) FinalPath(flags uint32) (string, error) {
	return ask(f.around, Call{Method: "File.FinalPath", Subject: f.path, Code: flags},
		func() (string, error) { return f.inner.FinalPath(flags) })
}

func (f *file) Close() error { return f.inner.Close() }
