#include "bootstrap/deps/key.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "base/io/sha256.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kFactsHead = "robustrun-snapshot 2\n";
constexpr std::string_view kAbiHead = "robustrun-abi 1";
constexpr std::size_t kAbiLines = 6;  // with the head
constexpr std::size_t kKeyDigits = 32;

// Lengths make the texts of two different lists differ.
void add_fact(std::string& text, std::string_view name, std::string_view value) {
  text += fmt::format("{} {}\n", name, value.size());
  text += value;
  text += '\n';
}

// "https://me:secret@host/x" as "https://host/x".
std::string without_credentials(std::string value) {
  std::size_t from = 0;
  while ((from = value.find("://", from)) != std::string::npos) {
    from += 3;
    const std::size_t end = std::min(value.find_first_of("/ ,", from), value.size());
    const std::size_t at = value.rfind('@', end);
    if (at != std::string::npos && at >= from && at < end) value.erase(from, at + 1 - from);
  }
  return value;
}

}  // namespace

std::string encode_facts(const SnapshotFacts& facts) {
  std::string text(kFactsHead);
  add_fact(text, "kind", word_for(facts.kind));
  add_fact(text, "inputs", facts.digest);
  for (const std::string& word : facts.command) add_fact(text, "word", word);
  add_fact(text, "directory", facts.directory);
  add_fact(text, "interpreter", facts.interpreter);
  add_fact(text, "abi", facts.abi);
  add_fact(text, "image", facts.image);
  add_fact(text, "root", facts.is_container ? "image" : "");
  add_fact(text, "driver", facts.driver);
  for (const std::string& variable : facts.index) add_fact(text, "index", variable);
  return text;
}

std::string snapshot_key(const SnapshotFacts& facts) {
  return base::to_hex(base::sha256(encode_facts(facts))).substr(0, kKeyDigits);
}

std::string_view abi_question() {
  return "import os, sys, sysconfig\n"
         "print('robustrun-abi 1')\n"
         "print(sys.implementation.name)\n"
         "print('%d.%d.%d' % sys.version_info[:3])\n"
         "print(sysconfig.get_config_var('SOABI') or sys.implementation.cache_tag)\n"
         "print(sysconfig.get_platform(), os.uname().machine)\n"
         "names = os.confstr_names\n"
         "libc = 'CS_GNU_LIBC_VERSION'\n"
         "print(os.confstr(libc) if libc in names else 'other libc')\n";
}

base::Result<std::string> parse_abi(std::string_view answer) {
  const auto no_answer = [&] {
    return base::fail(base::Errc::kCorrupt,
                      "cannot determine the interpreter's version: it answered '" +
                          base::printable(base::trim(answer).substr(0, 200)) + "'");
  };
  const std::string_view text = base::trim(answer);
  const auto lines = base::split(text, '\n');
  if (text.size() > kAbiBytesMax || lines.size() != kAbiLines || lines.front() != kAbiHead) {
    return no_answer();
  }
  if (std::ranges::any_of(lines, [](std::string_view line) { return line.empty(); })) {
    return no_answer();
  }
  return std::string(text.substr(kAbiHead.size() + 1));
}

std::string minor_version(std::string_view abi) {
  const auto lines = base::split(abi, '\n');
  if (lines.size() < 2) return {};
  const auto parts = base::split(lines[1], '.');
  return parts.size() < 2 ? "" : std::string(parts[0]) + "." + std::string(parts[1]);
}

std::vector<std::string> index_variables(const std::vector<std::string>& environment) {
  constexpr std::array<std::string_view, 18> kNames = {
      "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",  "PIP_NO_INDEX", "PIP_CONSTRAINT",
      "PIP_PRE",       "PIP_NO_BINARY",       "PIP_ONLY_BINARY", "UV_INDEX_URL", "UV_DEFAULT_INDEX",
      "UV_INDEX",      "UV_EXTRA_INDEX_URL",  "UV_FIND_LINKS",   "UV_NO_INDEX",  "UV_CONSTRAINT",
      "UV_PRERELEASE", "UV_EXCLUDE_NEWER",    "UV_TORCH_BACKEND"};
  std::vector<std::string> found;
  for (const std::string& entry : environment) {
    const auto equals = entry.find('=');
    const std::string_view name = std::string_view(entry).substr(0, equals);
    if (equals == std::string::npos || equals + 1 == entry.size()) continue;
    if (std::ranges::find(kNames, name) == kNames.end()) continue;
    found.push_back(std::string(name) + "=" + without_credentials(entry.substr(equals + 1)));
  }
  std::ranges::sort(found);
  return found;
}

std::string driver_major(std::string_view text) {
  const auto at = text.find("Kernel Module");
  if (at == std::string_view::npos) return {};
  const auto begin = text.find_first_of("0123456789", at);
  const auto line_end = text.find('\n', at);
  if (begin == std::string_view::npos || begin > line_end) return {};
  // "Kernel Module for x86_64  550.54": the version is the first word that begins with a digit.
  std::string_view rest = text.substr(at, line_end - at);
  for (const std::string_view word : base::split(rest, ' ')) {
    if (!word.empty() && word.front() >= '0' && word.front() <= '9') {
      return std::string(word.substr(0, word.find('.')));
    }
  }
  return {};
}

}  // namespace robustrun::bootstrap
