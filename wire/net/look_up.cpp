#include "wire/net/look_up.h"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "wire/net/tcp.h"

namespace robustrun::wire {

base::Result<std::vector<std::string>> look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return base::fail(base::Errc::kNotFound,
                      fmt::format("cannot look up {}: {}", host, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    addresses.push_back(host_text(each->ai_addr));
  }
  return addresses;
}

}  // namespace robustrun::wire
