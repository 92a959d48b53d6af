// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// behaviour.md SMB-1, SMB-2: the table of upstream's test, and more.
func TestParseRemote_SMB2(t *testing.T) {
	for _, tt := range []struct{ in, share, path string }{
		{`\\hostname\path`, `\\hostname\path`, `\\hostname\path\`},
		{`\\hostname\path\`, `\\hostname\path`, `\\hostname\path\`},
		{`\\hostname\path\subpath`, `\\hostname\path`, `\\hostname\path\subpath`},
		{`//host/share/sub`, `\\host\share`, `\\host\share\sub`},
		{`\\HOST\Share\Sub\Deep\`, `\\host\share`, `\\HOST\Share\Sub\Deep`},
		{`//Host//Share///Sub`, `\\host\share`, `\\Host\Share\Sub`},
		{`\\\host\share`, `\\host\share`, `\\host\share\`},
		{`/\host/share\sub`, `\\host\share`, `\\host\share\sub`},
		{`\\srv.example.com\data$`, `\\srv.example.com\data$`, `\\srv.example.com\data$\`},
		{`\\10.0.0.4\s`, `\\10.0.0.4\s`, `\\10.0.0.4\s\`},
		{`\\FE80--1.ipv6-literal.net\s`, `\\fe80--1.ipv6-literal.net\s`, `\\FE80--1.ipv6-literal.net\s\`},
		{`\\host\Ärger\ÄÖ`, `\\host\ärger`, `\\host\Ärger\ÄÖ`},
		{`\\host\with blank`, `\\host\with blank`, `\\host\with blank\`},
	} {
		t.Run(tt.in, func(t *testing.T) {
			share, path, err := ParseRemote(tt.in)
			if err != nil || share.String() != tt.share || path.String() != tt.path {
				t.Fatalf("got %s, %s, %v", share, path, err)
			}
			if again, err := share.Root().Share(); again != share || err != nil {
				t.Errorf("again %s, %v", again, err)
			}
		})
	}
}

// behaviour.md SMB-3, BUG 35: what cannot be a share is refused.
func TestParseRemote_SMB3Refuses(t *testing.T) {
	for _, in := range []string{
		``, `hostname`, `\\host`, `\\host\`, `////`, `\\`, `host\share`, `\host\share`, `C:\x`, `\\?\C:\x`, `//?/C:/x`,
		`\\?\UNC\host\share`, `\\.\C:\x`, `\\.\pipe\x`, `\\host\pipe\x`, `\\host\IPC$`, `\\host\mailslot`, `\??\UNC\h\s`,
		`\\host:445\share`, `\\[fe80::1]\share`, `\\fe80::1\share`, `\\host@SSL\share`, `\\host@8080\share`, `\\ho st\share`, `\\host$\share`,
		`\\host\sh+are`, `\\host\sh[are`, `\\host\sh]are`, `\\host\sh"are`, `\\host\sh:are`, `\\host\sh;are`, `\\host\sh|are`,
		`\\host\sh<are`, `\\host\sh>are`, `\\host\sh,are`, `\\host\sh?are`, `\\host\sh*are`, `\\host\sh=are`,
		`\\host\share\..\x`, `\\host\..\share`, `\\host\share\NUL`, `\\host\share\a.`, `\\host.\share`, "\\\\host\\sh\x00are",
		"\\\\host\\sh\nare", "\\\\host\\\xffshare", `\\host\x' OR '1'='1`,
	} {
		t.Run(in, func(t *testing.T) {
			if share, path, err := ParseRemote(in); !errors.Is(err, errdefs.ErrInvalidArgument) || share != (Share{}) || path != (Path{}) {
				t.Errorf("got %s, %s, %v", share, path, err)
			}
		})
	}
}

func TestShare_Server(t *testing.T) {
	share, _, err := ParseRemote(`//Host/Share`)
	if err != nil || share.Server() != `\\host` {
		t.Errorf("got %s, %v", share.Server(), err)
	}
	if got := (Share{}).String() + (Share{}).Server(); got != "" {
		t.Errorf("the zero share is %q", got)
	}
	local, err := Parse(`C:\dir`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.Share(); !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("a local path: %v", err)
	}
}

// A share has one spelling, whatever was given: that spelling is the share's
// own, spellings of one key are one share, and no link leads out of it.
func FuzzParseRemote(f *testing.F) {
	for _, s := range []string{
		`\\host\share`, `//HOST/Share/sub`, `\\?\C:\x`, `\\host\sh'are`, `\\ſ\K`, `\\ΐ\ς`, `\\İ\ı`, `\\h\s\..\x`, `\\.\pipe`,
		`\\host\a\b\`, `\\[::1]\s`, "\\\\h\\\xed\xa0\x80",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		share, path, err := ParseRemote(s)
		if err != nil {
			if !errors.Is(err, errdefs.ErrInvalidArgument) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if again, _, err := ParseRemote(share.String()); err != nil || again != share {
			t.Errorf("%q: %q again is %q, %v", s, share, again, err)
		}
		if Fold(share.String()) != Fold(path.Root().root) {
			t.Errorf("%q: %q is not the root of %q", s, share, path)
		}
		if other, _, err := ParseRemote(Fold(share.String())); err != nil || other != share {
			t.Errorf("%q: in capitals it is %q, %v", s, other, err)
		}
		if strings.Count(share.String(), `\`) != 3 || !strings.HasPrefix(share.String(), share.Server()+`\`) {
			t.Errorf("%q: %q of %q", s, share, share.Server())
		}
	})
}
