// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

const (
	classesKey = `SYSTEM\CurrentControlSet\Control\DeviceClasses`
	enumKey    = `SYSTEM\CurrentControlSet\Enum`
)

// interfaceLists are the device interfaces that SetupDi finds in the registry.
type interfaceLists struct {
	mu   sync.Mutex
	made map[abi.GUID][]string
}

// newInterfaceLists starts with none, also where an earlier lab was killed: Wine
// has no interfaces of these classes itself.
func newInterfaceLists() (*interfaceLists, error) {
	l := &interfaceLists{made: map[abi.GUID][]string{}}
	for _, class := range []abi.GUID{abi.GUID_DEVINTERFACE_DISK, abi.GUID_DEVINTERFACE_VOLUME} {
		names, err := subkeys(classKey(class))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			l.made[class] = append(l.made[class], strings.Replace(name, `##?#`, `\\?\`, 1))
		}
	}
	return l, l.clear()
}

// set makes paths the list of a class.
func (l *interfaceLists) set(class abi.GUID, paths []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed error
	for _, path := range l.made[class] {
		if !slices.Contains(paths, path) {
			failed = errors.Join(failed, removeInterface(class, path))
		}
	}
	for _, path := range paths {
		if !slices.Contains(l.made[class], path) {
			failed = errors.Join(failed, addInterface(class, path))
		}
	}
	l.made[class] = slices.Clone(paths)
	return failed
}

// clear removes all that was made.
func (l *interfaceLists) clear() error {
	var failed error
	for class := range l.made {
		failed = errors.Join(failed, l.set(class, nil))
	}
	return failed
}

func classKey(class abi.GUID) string { return classesKey + `\{` + class.String() + `}` }

// interfaceKey is the key of an interface: its path with # for each \.
func interfaceKey(class abi.GUID, path string) string {
	return classKey(class) + `\` + strings.ReplaceAll(path, `\`, `#`)
}

// instance is the device instance in an interface path, \\?\SCSI#Disk&Ven_X#5#{class}.
func instance(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, `\\?\`), `#`)
	return strings.Join(parts[:len(parts)-1], `\`)
}

func addInterface(class abi.GUID, path string) error {
	key := interfaceKey(class, path)
	return errors.Join(
		setValue(key, "DeviceInstance", instance(path)),
		setValue(key+`\#`, "SymbolicLink", path),
		setNumber(key+`\#\Control`, "Linked", 1),
		setValue(enumKey+`\`+instance(path), "ClassGUID", "{4d36e967-e325-11ce-bfc1-08002be10318}"),
	)
}

func removeInterface(class abi.GUID, path string) error {
	key := interfaceKey(class, path)
	return errors.Join(
		prune(key+`\#\Control`, classesKey),
		prune(enumKey+`\`+instance(path), enumKey),
	)
}

// prune deletes a key, and those above it up to root that it leaves empty.
func prune(path, root string) error {
	for path != root {
		below, err := subkeys(path)
		if err != nil || len(below) > 0 {
			return err
		}
		if err := registry.DeleteKey(registry.LOCAL_MACHINE, path); err != nil && !errors.Is(err, registry.ErrNotExist) {
			return err
		}
		path = path[:strings.LastIndex(path, `\`)]
	}
	return nil
}

// subkeys are the names of the keys below a key, which need not be there.
func subkeys(path string) ([]string, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.ENUMERATE_SUB_KEYS)
	if errors.Is(err, registry.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := key.ReadSubKeyNames(-1)
	return names, errors.Join(err, key.Close())
}

func setValue(path, name, value string) error {
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, path, registry.ALL_ACCESS)
	if err != nil {
		return err
	}
	return errors.Join(key.SetStringValue(name, value), key.Close())
}

func setNumber(path, name string, value uint32) error {
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, path, registry.ALL_ACCESS)
	if err != nil {
		return err
	}
	return errors.Join(key.SetDWordValue(name, value), key.Close())
}
