#pragma once
// A machine as the user named it: one entry of --hosts or of a host file. Plain data.

#include <cstdint>
#include <string>

namespace robustrun::launcher {

struct Host {
  std::string name;          // as written: "node01", "gpu-a.example.org", "10.0.0.7", "[::1]"
  std::string user;          // empty: ssh decides
  std::uint16_t port = 0;    // 0: ssh decides
  std::uint32_t slots = 0;   // 0: not given
  bool operator==(const Host&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "user", user);
    v(3, "port", port);
    v(4, "slots", slots);
  }
};

}  // namespace robustrun::launcher
