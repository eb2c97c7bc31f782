#pragma once
// Addresses of this machine and of connections, in numbers as text: "10.0.0.1", "fe80::1%eth0".

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::wire {

// Where a connection goes, as both ends see it here.
struct ConnectionAddresses {
  std::string local;
  std::string remote;
};

// Numeric addresses of this machine's interfaces that are up; loopback last. `interface`: of this
// one alone (kNotFound with the names there are).
[[nodiscard]] base::Result<std::vector<std::string>> local_addresses(
    const std::string& interface = {});

}  // namespace robustrun::wire
