// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const canary = "canary-4711"

// request is shaped as the requests of the groups.
type request struct{ Name, Password string }

func (r request) Format(f fmt.State, verb rune) {
	type shown request
	r.Password = Mark(r.Password)
	Format(f, verb, shown(r))
}

func TestFormat(t *testing.T) {
	for _, value := range []any{
		Text(canary),
		[]Text{canary},
		struct{ S Text }{canary},
		map[string]Text{"k": canary},
		request{"name", canary},
		&request{"name", canary},
		[]request{{"name", canary}},
		struct{ R *request }{&request{"name", canary}},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "% x", "%10v"} {
			if got := fmt.Sprintf(verb, value); strings.Contains(got, canary) || strings.Contains(got, fmt.Sprintf("%x", canary)) {
				t.Errorf("%s of %T tells: %s", verb, value, got)
			}
		}
	}
}

func TestFormat_ShowsTheRest(t *testing.T) {
	if got, want := fmt.Sprintf("%+v", request{"name", canary}), "{Name:name Password:***}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprintf("%+v", request{"name", ""}), "{Name:name Password:}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestText_JSON(t *testing.T) {
	got, err := json.Marshal(struct{ Given, None Text }{Given: canary})
	if want := `{"Given":"***","None":""}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
