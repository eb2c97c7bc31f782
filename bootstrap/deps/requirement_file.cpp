#include "bootstrap/deps/requirement_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/core/text.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

using Kind = RequirementLine::Kind;
using base::Errc;

constexpr std::string_view kFileUrl = "file:";

bool is_blank_in_line(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || is_blank_in_line(line[i - 1]))) return line.substr(0, i);
  }
  return line;
}

struct OptionValue {
  Kind kind;
  std::string_view value;
};

// "-r FILE", "-rFILE", "--requirement FILE", "--requirement=FILE".
std::optional<OptionValue> option_of(std::string_view line) {
  struct Name {
    std::string_view short_form, long_form;
    Kind kind;
  };
  constexpr std::array<Name, 4> kNames = {{{"-r", "--requirement", Kind::kInclude},
                                           {"-c", "--constraint", Kind::kConstraint},
                                           {"-e", "--editable", Kind::kEditable},
                                           {"-f", "--find-links", Kind::kFindLinks}}};
  for (const Name& name : kNames) {
    if (line.starts_with(name.long_form)) {
      const std::string_view behind = line.substr(name.long_form.size());
      if (behind.empty() || behind.front() == '=' || is_blank_in_line(behind.front())) {
        return OptionValue{name.kind, base::trim(behind.substr(behind.empty() ? 0 : 1))};
      }
    } else if (line.starts_with(name.short_form) && !line.starts_with("--")) {
      std::string_view behind = line.substr(name.short_form.size());
      if (behind.starts_with('=')) behind.remove_prefix(1);
      return OptionValue{name.kind, base::trim(behind)};
    }
  }
  return std::nullopt;
}

std::string_view unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                      value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// Turns "file:///a%20b", "file://localhost/a" and "file:a" into paths; other text is unchanged.
std::string without_file_url(std::string_view text) {
  if (!text.starts_with(kFileUrl)) return std::string(text);
  text.remove_prefix(kFileUrl.size());
  if (text.starts_with("//")) text.remove_prefix(2);
  if (text.starts_with("localhost/")) text.remove_prefix(std::string_view("localhost").size());
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const from = text.data() + i + 1;
    const bool is_coded = text[i] == '%' && i + 2 < text.size() &&
                          std::from_chars(from, from + 2, byte, 16).ptr == from + 2 && byte != 0;
    path += is_coded ? static_cast<char>(byte) : text[i];
    if (is_coded) i += 2;
  }
  return path;
}

bool has_archive_name(std::string_view text) {
  constexpr std::array<std::string_view, 6> kEndings = {".whl",     ".zip",    ".tar.gz",
                                                        ".tar.bz2", ".tar.xz", ".tgz"};
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return text.ends_with(end); });
}

// Hexadecimal, with as many digits as a git commit id.
bool names_commit(std::string_view url) {
  const auto at = url.rfind('@');
  if (at == std::string_view::npos) return false;
  const std::string_view name = url.substr(at + 1, url.find('#', at) - at - 1);
  return name.size() == 40 &&
         name.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool is_pinned_url(std::string_view url) {
  return url.find("sha256=") != std::string_view::npos || names_commit(url);
}

// Whether a requirement by name fixes one version or a hash.
bool is_pinned_name(std::string_view text) {
  if (text.find("--hash=") != std::string_view::npos) return true;
  const std::string_view spec = text.substr(0, std::min(text.find(';'), text.find(" --")));
  const auto equals = spec.find("==");
  return equals != std::string_view::npos && spec.find('*', equals) == std::string_view::npos;
}

// Splits "./package[extra] ; marker" into the path and the rest.
void set_path(RequirementLine& line, std::string_view text) {
  std::string_view path = text.substr(0, std::min(text.find(" ;"), text.find(" --")));
  std::string_view rest = base::trim(text.substr(path.size()));
  path = base::trim(path);
  if (const auto egg = path.find("#egg="); egg != std::string_view::npos) {
    path = path.substr(0, egg);
  }
  std::string_view extras;
  if (const auto open = path.rfind('['); path.ends_with(']') && open != std::string_view::npos) {
    extras = path.substr(open);
    path = path.substr(0, open);
  }
  line.path = without_file_url(unquoted(path));
  line.rest = std::string(extras) + (rest.empty() ? "" : " ") + std::string(rest);
}

RequirementLine requirement(std::string_view text) {
  RequirementLine line;
  line.text = text;
  const auto at = text.find('@');
  const auto url = text.find("://");
  // "name @ URL", or a URL alone.
  const bool is_named_url = at != std::string_view::npos &&
                            (url == std::string_view::npos || at < url) &&
                            text.find_first_of("=<>;") > at;
  const std::string_view target = base::trim(is_named_url ? text.substr(at + 1) : text);
  if (target.starts_with(kFileUrl)) {
    line.kind = Kind::kPath;
    set_path(line, target);
  } else if (target.find("://") != std::string_view::npos) {
    line.pinned = is_pinned_url(target);
  } else {
    const std::string_view name = target.substr(0, target.find_first_of("; \t"));
    const bool is_path =
        name.find('/') != std::string_view::npos || name.starts_with('.') || has_archive_name(name);
    if (is_path) {
      line.kind = Kind::kPath;
      set_path(line, target);
    } else {
      line.pinned = is_pinned_name(target);
    }
  }
  return line;
}

base::Result<RequirementLine> parse_line(std::string_view text) {
  const auto option = option_of(text);
  if (!option && text.starts_with('-')) return RequirementLine{.text = std::string(text)};
  if (!option) return requirement(text);
  const std::string_view value = unquoted(option->value);
  if (value.empty()) return base::fail(Errc::kCorrupt, "an option has no value");
  RequirementLine line{.kind = option->kind, .text = std::string(text)};
  if (option->kind == Kind::kEditable) {
    RequirementLine inner = requirement(value);
    if (inner.kind == Kind::kPath) {
      line.path = std::move(inner.path);
      line.rest = std::move(inner.rest);
    } else if (value.find("://") == std::string_view::npos) {
      set_path(line, value);  // here a bare name is a folder
    } else {
      line.kind = Kind::kOther;
      line.pinned = inner.pinned;
    }
    return line;
  }
  line.path = without_file_url(value);
  if (line.path.find("://") != std::string::npos) {  // from the network: nothing local to hash
    line.pinned = option->kind == Kind::kFindLinks;
    line.kind = Kind::kOther;
    line.path.clear();
  }
  return line;
}

}  // namespace

base::Result<std::vector<RequirementLine>> parse_requirements(std::string_view text) {
  if (text.size() > kDepsFileBytesMax) {
    return base::fail(Errc::kLimit,
                      fmt::format("it is longer than {} MiB", kDepsFileBytesMax >> 20));
  }
  if (text.find('\0') != std::string_view::npos) {
    return base::fail(Errc::kCorrupt, "it is not text: it has a NUL byte");
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<RequirementLine> lines;
  std::string joined;
  std::size_t number = 0;
  bool goes_on = false;
  const auto pieces = base::split(text, '\n');
  for (std::string_view line : pieces) {
    ++number;
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const bool is_comment = base::trim(without_comment(line)).empty();
    goes_on = !is_comment && line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    if (!is_comment) joined += line;
    if (goes_on && number < pieces.size()) continue;
    const std::string_view whole = base::trim(without_comment(joined));
    if (!whole.empty()) {
      if (lines.size() >= kDepsLinesMax) {
        return base::fail(Errc::kLimit, fmt::format("it has more than {} lines", kDepsLinesMax));
      }
      auto parsed = parse_line(whole);
      if (!parsed) {
        return base::fail(parsed.error().code,
                          fmt::format("line {}: {}", number, parsed.error().what));
      }
      lines.push_back(*std::move(parsed));
    }
    joined.clear();
  }
  return lines;
}

}  // namespace robustrun::bootstrap
