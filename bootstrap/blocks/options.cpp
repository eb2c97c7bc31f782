#include "bootstrap/blocks/options.h"

#include <fmt/core.h>

#include <array>
#include <limits>
#include <utility>

#include "base/core/text.h"
#include "bootstrap/store/source_digest.h"

namespace robustrun::bootstrap {
namespace {

// Applies an option's value; returns false if it is invalid.
using TakeOption = bool (*)(ServeOptions&, const std::string&);

struct OptionRow {
  std::string_view name;
  std::string_view value;
  std::string_view help;
  TakeOption take;
};

template <std::string ServeOptions::* kMember>
bool take_text(ServeOptions& options, const std::string& value) {
  options.*kMember = value;
  return !value.empty();
}

template <auto kMember, std::uint64_t kMax>
bool take_count(ServeOptions& options, const std::string& value) {
  const auto number = base::parse_int<std::uint64_t>(value);
  if (!number || *number > kMax) return false;
  using Member = std::remove_reference_t<decltype(options.*kMember)>;
  options.*kMember = Member(*number);
  return true;
}

constexpr std::uint64_t kSecondsMax = 365 * 86400;
constexpr std::array kOptionRows = {
    OptionRow{"--source", "PATH|URL",
              "the image or other file to serve; URL#sha256=HEX: with that content (required)",
              take_text<&ServeOptions::source>},
    OptionRow{"--cache", "DIR", "the user's cache directory (required)",
              take_text<&ServeOptions::cache>},
    OptionRow{"--mount", "DIR", "where to mount it, as DIR/image (required)",
              take_text<&ServeOptions::mount>},
    OptionRow{"--socket", "PATH", "where clients connect (required)",
              take_text<&ServeOptions::socket>},
    OptionRow{"--folder", "DIR",
              "contains both; removed after --idle-exit without an owner and without a client",
              take_text<&ServeOptions::folder>},
    OptionRow{"--profile", "FILE", "blocks to read ahead (CACHE/hot/KEY.blocks)",
              take_text<&ServeOptions::profile>},
    OptionRow{"--origin-rate", "MIB",
              "MiB/s at which to fetch blocks not in the profile; 0: never (32)",
              take_count<&ServeOptions::origin_rate_mib, 1U << 20>},
    OptionRow{"--cache-max", "GIB", "limit for all blobs in the cache; 0: only the disk's (0)",
              take_count<&ServeOptions::cache_max_gib, 1U << 20>},
    OptionRow{"--idle-exit", "SECONDS", "end after this time without use; 0: never (60)",
              take_count<&ServeOptions::idle_exit, kSecondsMax>},
    OptionRow{"--retry-budget", "SECONDS", "a read that waits longer fails with EIO (60)",
              take_count<&ServeOptions::retry_budget, kSecondsMax>},
    OptionRow{"--record-limit", "SECONDS", "end the recording after this time at the latest (900)",
              take_count<&ServeOptions::record_limit, kSecondsMax>},
    OptionRow{"--in-flight", "COUNT", "concurrent requests when reading ahead, 1 to 32 (24)",
              take_count<&ServeOptions::in_flight, kHotInFlightMax>},
    OptionRow{"--prefetch", "0|1", "read ahead the profile's blocks, then the rest (1)",
              take_count<&ServeOptions::is_prefetching, 1>},
    OptionRow{"--await-peers", "SECONDS",
              "how long reading ahead waits for a client that asks peers (0)",
              take_count<&ServeOptions::await_peers, kSecondsMax>},
};

const OptionRow* row_of(std::string_view name) {
  for (const OptionRow& row : kOptionRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

std::string serve_usage() {
  std::string text = "usage: robustrun-blocks serve OPTIONS\n";
  for (const OptionRow& row : kOptionRows) {
    text += fmt::format("  {:<24} {}\n", fmt::format("{} {}", row.name, row.value), row.help);
  }
  return text;
}

base::Result<ServeOptions> parse_serve_options(std::span<char* const> words) {
  ServeOptions options;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const OptionRow* const row = row_of(words[i]);
    if (row == nullptr) {
      return base::fail(base::Errc::kInvalidArgument,
                        fmt::format("unknown option '{}'", base::printable(words[i])));
    }
    if (i + 1 == words.size() || !row->take(options, words[i + 1])) {
      return base::fail(base::Errc::kInvalidArgument,
                        fmt::format("{} expects {}", row->name, row->value));
    }
  }
  for (const auto& [name, value] :
       {std::pair("--source", &options.source), std::pair("--cache", &options.cache),
        std::pair("--mount", &options.mount), std::pair("--socket", &options.socket)}) {
    if (value->empty()) {
      return base::fail(base::Errc::kInvalidArgument, fmt::format("{} is required", name));
    }
  }
  auto [source, sha256] = RR_TRY(split_digest(options.source));
  options.source = std::move(source);
  options.sha256 = std::move(sha256);
  if (options.retry_budget.count() == 0 || options.in_flight == 0) {
    return base::fail(base::Errc::kInvalidArgument, "--retry-budget and --in-flight must not be 0");
  }
  return options;
}

}  // namespace robustrun::bootstrap
