// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Share is a share of a file server in its one spelling, \\host\share in lower
// case, by which locks and mappings know it. Shares are equal if they are ==.
// The zero Share is none.
type Share struct{ text string }

// String is \\host\share.
func (s Share) String() string { return s.text }

// Server is \\host.
func (s Share) Server() string { return Path{root: s.text}.Server() }

// Root is the path of the share's root directory.
func (s Share) Root() Path { return Path{root: s.text} }

// ParseRemote reads the name of a share, or of a directory below one, as the
// smb group takes it: \\host\share\dir, with slashes of either kind, repeated
// ones too. It returns the share, and the whole path in the case in which it
// was given.
//
// It refuses what is no share of an SMB server: a name without two slashes in
// front, device paths and everything else behind \\?\ or \\.\, names with
// characters that no share has, IPC$, pipes and mailslots, a host with a port
// (which WebDAV has) and an IPv6 address between brackets, which Windows spells
// as fe80--1.ipv6-literal.net. What is below the share obeys the rules of
// [Parse].
//
// Errors: [errdefs.ErrInvalidArgument], with the reason.
//
// Sources: behaviour.md SMB-1 to SMB-3; docs/architecture.md. Windows' own list of
// characters that share names cannot have is upstream's, but for the $ that
// marks a hidden share.
func ParseRemote(s string) (Share, Path, error) {
	share, path, err := parseRemote(strings.ReplaceAll(s, "/", `\`))
	if err != nil {
		return Share{}, Path{}, errdefs.As(errdefs.InvalidArgument, "remote path", s, err)
	}
	return share, path, nil
}

func parseRemote(s string) (Share, Path, error) {
	if s == "" {
		return Share{}, Path{}, errors.New("remote path is empty")
	}
	names, ok := strings.CutPrefix(s, `\\`)
	if !ok {
		return Share{}, Path{}, errors.New(`remote path is invalid: not \\host\share`)
	}
	names = strings.TrimLeft(names, `\`)
	host, rest, _ := strings.Cut(names, `\`)
	if host == "." || host == "?" {
		return Share{}, Path{}, errDevice
	}
	path, err := parse(`\\`+host+`\`+strings.TrimLeft(rest, `\`), 0)
	if err != nil {
		return Share{}, Path{}, fmt.Errorf("remote path is invalid: %w", err)
	}
	share, err := path.Share()
	return share, path, err
}

// Share is the share that p is on.
//
// Errors: [errdefs.ErrInvalidArgument] for a local path, and for a share that
// [ParseRemote] refuses.
func (p Path) Share() (Share, error) {
	if !p.IsUNC() {
		return Share{}, errdefs.New(errdefs.InvalidArgument, "share", p.String(), "not on a file server")
	}
	host, name, _ := strings.Cut(p.root[2:], `\`)
	if err := checkShare(host, name); err != nil {
		return Share{}, errdefs.As(errdefs.InvalidArgument, "share", p.root, err)
	}
	return Share{lowerFold(p.root)}, nil
}

// notInShares are characters that names of shares and hosts do not have, beside
// those that no path element has.
const notInShares = `+[];,=`

func checkShare(host, name string) error {
	for _, s := range []string{host, name} {
		if i := strings.IndexAny(s, notInShares); i >= 0 {
			return fmt.Errorf("character %q in the name of a host or share", s[i])
		}
	}
	switch {
	case strings.ContainsAny(host, `@$ `):
		return fmt.Errorf("%q is no name of an SMB server", host)
	case strings.EqualFold(name, "IPC$"):
		return errors.New("IPC$ holds no files")
	}
	return nil
}

// lowerFold is the other half of [Fold]: each character that is the upper half
// of a pair becomes the lower one. So two spellings have one lower form if they
// have one key.
func lowerFold(s string) string { return mapRunes(s, lower) }

func lower(r rune) rune {
	l := unicode.ToLower(r)
	if r > 0xFFFF || l > 0xFFFF || unicode.ToUpper(l) != r {
		return r
	}
	return l
}
