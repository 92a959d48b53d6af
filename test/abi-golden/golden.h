/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of bytes and numbers in the section .golden of an object file, which
 * extract reads without anything being run.
 *
 * BYTES and PART put the initialised bytes of a type there; records of one
 * label follow one another, so that a structure with a variable tail is given
 * as a PART, up to a field, and more records. FIELD and NUMBER put numbers
 * there. HAND_MADE says that a label rests on documentation, not on a header.
 */
#define GOLDEN __attribute__((section(".golden"), used, aligned(1)))

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#define RECORD(kind_, label_, use_, type_, ...)                       \
  static const struct __attribute__((packed)) {                       \
    char label[96];                                                   \
    unsigned char kind;                                               \
    unsigned int use, size;                                           \
    type_ value;                                                      \
  } JOIN(golden_, __COUNTER__) GOLDEN = {label_, kind_, use_, sizeof(type_), __VA_ARGS__};

#define BYTES(label, type, ...) RECORD('B', label, sizeof(type), type, __VA_ARGS__)
#define PART(label, type, field, ...) RECORD('B', label, offsetof(type, field), type, __VA_ARGS__)
#define NUMBER(label, value) RECORD('N', label, 8, unsigned long long, value)
#define CONSTANT(name) NUMBER(#name, (unsigned int)(name))
#define CONSTANT64(name) NUMBER(#name, (unsigned long long)(name))
#define SIZE(type) NUMBER("sizeof(" #type ")", sizeof(type))
#define FIELD(type, field) NUMBER("offsetof(" #type ", " #field ")", offsetof(type, field))
#define HAND_MADE(label) RECORD('H', label, 0, char, 0)
