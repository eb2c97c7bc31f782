// Lists of requirements, projects, files of conda, commands, what stands in a cache about a
// snapshot, leases and the answers of interpreters: any bytes become that or an error. Seeds:
// tests/fuzz/seeds/requirements

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "bootstrap/deps/key.h"
#include "bootstrap/deps/lease.h"
#include "bootstrap/deps/requirement_file.h"
#include "bootstrap/deps/store.h"
#include "bootstrap/store/local_sources.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun::bootstrap;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto lines = parse_requirements(bytes)) {
    for (const RequirementLine& line : *lines) {
      const bool has_path = line.kind != RequirementLine::Kind::kOther;
      if (line.text.empty() || line.text.find('\n') != std::string::npos) std::abort();
      if (!has_path && !line.path.empty()) std::abort();
    }
  }
  static_cast<void>(project_sources(bytes));
  static_cast<void>(lock_sources(bytes));
  static_cast<void>(conda_pip_lines(bytes));
  std::vector<std::string> words;
  for (const std::string_view word : robustrun::base::split(bytes, '\n')) words.emplace_back(word);
  static_cast<void>(command_sources(words));
  if (const auto abi = parse_abi(bytes)) static_cast<void>(minor_version(*abi));
  static_cast<void>(driver_major(bytes));
  if (const auto lease = decode_lease(bytes)) {
    if (decode_lease(encode_lease(*lease)).value().token != lease->token) std::abort();
  }
  // No input would have the right sum by itself.
  char end[32];
  const auto sum = static_cast<unsigned long long>(robustrun::base::hash64(bytes));
  std::snprintf(end, sizeof(end), "end %016llx\n", sum);
  const auto about = decode_about(std::string(bytes) + end);
  if (about && decode_about(encode_about(*about))->bytes != about->bytes) std::abort();
  return 0;
}
