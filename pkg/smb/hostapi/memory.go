// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
)

// Familiarity is what this process remembers of a mapping and a credential.
type Familiarity int

// The degrees.
const (
	// Unknown: this process has neither made nor verified anything for the
	// mapping, because it has been started since.
	Unknown Familiarity = iota
	// OtherUser: only other users' credentials are remembered.
	OtherUser
	// SameUser: the user is, with another password.
	SameUser
	// SameCredential: the credential made the mapping, or was verified for it.
	SameCredential
)

// memory knows salted hashes of what was good for each mapping, and nothing
// else. The salt is the process's own, so that a hash serves nobody elsewhere; it
// is made when it is first needed, because a constructor opens nothing.
type memory struct {
	salt func() []byte

	mu    sync.Mutex
	known map[winpath.Share][]hashes // the latest last
}

type hashes struct{ user, credential [sha256.Size]byte }

// remembered bounds how many credentials a mapping has.
const remembered = 16

func memoryOf(h *win.Host) *memory {
	return win.Attached(h, func() *memory {
		salt := sync.OnceValue(func() []byte { return []byte(rand.Text()) })
		return &memory{salt: salt, known: map[winpath.Share][]hashes{}}
	})
}

func (m *memory) hash(parts ...string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, m.salt())
	for _, part := range parts {
		// Sixty-four bits of length before each, so that parts do not run together.
		length := uint64(len(part))
		for shift := 0; shift < 64; shift += 8 {
			mac.Write([]byte{byte(length >> shift)})
		}
		mac.Write([]byte(part))
	}
	copy(sum[:], mac.Sum(nil))
	return sum
}

// of hashes a credential. Windows takes user names in any case.
func (m *memory) of(c Credential) hashes {
	user := strings.ToLower(c.User)
	return hashes{m.hash(c.kind(), user), m.hash(c.kind(), user, c.Password)}
}

func (m *memory) Known(share winpath.Share, c Credential) Familiarity {
	asked := m.of(c)
	m.mu.Lock()
	defer m.mu.Unlock()
	best := Unknown
	for _, k := range m.known[share] {
		switch {
		case k.credential == asked.credential:
			return SameCredential
		case k.user == asked.user:
			best = SameUser
		case best == Unknown:
			best = OtherUser
		}
	}
	return best
}

func (m *memory) Remember(share winpath.Share, c Credential, isNew bool) {
	asked := m.of(c)
	m.mu.Lock()
	defer m.mu.Unlock()
	var known []hashes
	if !isNew {
		known = slices.DeleteFunc(m.known[share], func(k hashes) bool { return k.user == asked.user })
	}
	if len(known) == remembered {
		known = slices.Delete(known, 0, 1)
	}
	m.known[share] = append(known, asked)
}

func (m *memory) Suspect(share winpath.Share, c Credential) {
	user := m.of(c).user
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[share] = []hashes{{user: user}}
}

func (m *memory) Forget(share winpath.Share) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, share)
}

func (m *memory) Tag(c Credential) string {
	sum := m.hash("tag", c.kind(), c.User, c.Password)
	return hex.EncodeToString(sum[:8])
}
