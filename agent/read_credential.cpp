#include "agent/read_credential.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>

#include "agent/node/limits.h"
#include "base/core/clock.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {

base::Result<wire::Credential> read_credential() {
  std::string line;
  const base::SystemClock clock;
  const base::Nanos until = clock.now() + kCredentialMax;
  while (line.find('\n') == std::string::npos) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now());
    const int ready = ::poll(&input, 1, std::max(0, static_cast<int>(left.count())));
    if (ready < 0 && errno == EINTR) continue;
    std::array<char, 4096> bytes{};  // nothing follows the line
    const ssize_t got = ready <= 0 ? 0 : ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got <= 0) {
      return base::fail(base::Errc::kUnavailable,
                        "cannot read the credential from standard input: it ended, or nothing "
                        "came; the agent is started by robustrun itself");
    }
    line.append(bytes.data(), static_cast<std::size_t>(got));
    if (line.size() > wire::kCredentialBytesMax) break;  // the parser reports it
  }
  line.resize(std::min(line.size(), line.find('\n')));
  return wire::parse_credential(line);
}

}  // namespace robustrun::agent
