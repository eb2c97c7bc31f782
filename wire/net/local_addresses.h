#pragma once
// Addresses of this machine and of connections, numeric, as text: "10.0.0.1", "fe80::1%eth0".

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::wire {

// The two addresses of a connection, as seen from here.
struct ConnectionAddresses {
  std::string local;
  std::string remote;
};
// The addresses of a connected socket; "?" for an address that the kernel no longer reports.
[[nodiscard]] ConnectionAddresses addresses_of(int fd);

// Addresses of this machine's interfaces that are up, loopback last. `interface`: only the
// addresses of this interface. kNotFound: that interface does not exist, is not up, or has no
// address; the text names the interfaces that could be used.
[[nodiscard]] base::Result<std::vector<std::string>> local_addresses(
    const std::string& interface = {});

// "fe80::1" of "fe80::1%eth0": machines name their interfaces differently.
[[nodiscard]] std::string_view without_zone(std::string_view address);

// Whether the other end is on this machine. The list of this machine's addresses is read only once
// per process, so addresses that are added later are not recognised.
[[nodiscard]] bool is_of_this_machine(const ConnectionAddresses& addresses);

}  // namespace robustrun::wire
