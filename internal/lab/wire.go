// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/binary"
	"errors"
)

// Control codes of \\.\LabControl (lab.c).
const (
	codeGet    = 0x8000_2000 + iota<<2
	codePut    // in: an answer
	codeDevice // in: number, name
	codeRemove // in: number
	codeLink   // in: link, target, target before
	codeUnlink // in: link
	codeCounts // out: Counts
)

// kind is the major function of a request (wdm.h).
type kind uint32

const (
	kindCreate      kind = 0
	kindClose       kind = 2
	kindRead        kind = 3
	kindWrite       kind = 4
	kindFlush       kind = 9
	kindQueryVolume kind = 10
	kindFileSystem  kind = 13
	kindControl     kind = 14
	kindCancelled   kind = 0x81
)

// message is struct message of lab.c, and the request's input.
type message struct {
	id, file, offset uint64
	device           uint32
	kind             kind
	code, access     uint32
	process, thread  uint32
	input, output    uint32
	data             []byte
}

const messageSize = 56

var errShortMessage = errors.New("short message from the driver")

func decodeMessage(b []byte) (message, error) {
	if len(b) < messageSize {
		return message{}, errShortMessage
	}
	le := binary.LittleEndian
	m := message{
		id: le.Uint64(b), file: le.Uint64(b[8:]), offset: le.Uint64(b[16:]),
		device: le.Uint32(b[24:]), kind: kind(le.Uint32(b[28:])),
		code: le.Uint32(b[32:]), access: le.Uint32(b[36:]),
		process: le.Uint32(b[40:]), thread: le.Uint32(b[44:]),
		input: le.Uint32(b[48:]), output: le.Uint32(b[52:]),
	}
	if uint64(len(b)) < messageSize+uint64(m.input) {
		return message{}, errShortMessage
	}
	m.data = b[messageSize:][:m.input]
	return m, nil
}

// encodeAnswer is struct answer of lab.c, and the request's output.
func encodeAnswer(id uint64, s ntstatus, output []byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, id)
	b = le.AppendUint32(b, uint32(s))
	b = le.AppendUint32(b, uint32(len(output)))
	return append(b, output...)
}

// Counts are what the driver holds: requests that wait for the server or for
// its answer, devices and links.
type Counts struct{ Waiting, Held, Devices, Links uint32 }

func decodeCounts(b []byte) (Counts, error) {
	if len(b) < 16 {
		return Counts{}, errShortMessage
	}
	le := binary.LittleEndian
	return Counts{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])}, nil
}
