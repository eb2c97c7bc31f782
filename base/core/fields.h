#pragma once
// Field lists: one declaration per struct serves every codec (wire messages, journal records, JSON
// for `report --json`).
//
// A serialisable struct has
//     template <class V> void fields(V& v) { v(1, "pid", pid); v(2, "name", name); }
// where 1, 2 … are the numbers on the wire: never reused, never renumbered. Members may be
// integers, bool, enums, double, std::string (bytes, not text), Nanos, Id<>, other such structs,
// and std::optional and std::vector of these. A visitor V is called with (int number, const char*
// name, Member&).

#include <cstdint>
#include <type_traits>

namespace robustrun::base {

struct FieldProbe {
  template <class T>
  void operator()(int, const char*, T&) {}
};

template <class T>
concept HasFields =
    std::is_class_v<T> && requires(T& value, FieldProbe& probe) { value.fields(probe); };

}  // namespace robustrun::base
