#include "topo/read/slurm_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/network/complaint.h"

namespace robustrun::topo {
namespace {

using base::Result;

constexpr std::string_view kBlank = " \t\r";

bool is_blank(char c) { return kBlank.find(c) != std::string_view::npos; }

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

bool equals_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// A line of the text, or several joined ones.
class LineReader {
 public:
  LineReader(std::string_view text, std::string_view source) : rest_(text), source_(source) {}

  Result<std::vector<SlurmLine>> read() {
    std::vector<SlurmLine> lines;
    std::string comment;
    while (!rest_.empty()) {
      SlurmLine line;
      line.line = next_;
      std::string text = take();
      const std::optional<std::string> more = cut_comment(text);
      while (!more && text.ends_with('\\') && !rest_.empty()) {
        text.back() = ' ';
        text += take();
        if (cut_comment(text)) break;
      }
      if (base::trim(text).empty()) {
        comment = more.value_or("");
        continue;
      }
      RR_TRY(split(text, line));
      line.comment = std::move(comment);
      comment.clear();
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  // The next line of the text, without trailing blanks.
  std::string take() {
    const auto end = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++next_;
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    return std::string(line);
  }

  static std::optional<std::string> cut_comment(std::string& line) {
    const auto at = line.find('#');
    if (at == std::string::npos) return std::nullopt;
    std::string comment(base::trim(std::string_view(line).substr(at + 1)));
    line.resize(at);
    return comment;
  }

  base::Status split(std::string_view text, SlurmLine& line) const {
    const auto skip_blanks = [&text] {
      text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    };
    for (skip_blanks(); !text.empty(); skip_blanks()) {
      const std::string_view before = text;
      const auto key_end = std::ranges::find_if_not(text, is_key_character);
      SlurmPair pair;
      pair.key.assign(text.begin(), key_end);
      text.remove_prefix(pair.key.size());
      skip_blanks();
      if (pair.key.empty() || !text.starts_with('=')) {
        const std::string_view word = before.substr(0, before.find_first_of(kBlank));
        return cannot_use(source_, line.line,
                          fmt::format("'{}' is not of the form Key=value",
                                      base::printable(word.substr(0, kNameBytesMax))));
      }
      text.remove_prefix(1);
      skip_blanks();
      if (text.starts_with('"')) {
        const auto close = text.find('"', 1);
        if (close == std::string_view::npos) {
          return cannot_use(source_, line.line, "a quotation mark is not closed");
        }
        pair.value = text.substr(1, close - 1);
        text.remove_prefix(close + 1);
      } else {
        pair.value = text.substr(0, text.find_first_of(kBlank));
        // "Nodes= Switches=s1": an empty value.
        const auto equals = pair.value.find('=');
        if (equals != std::string::npos) pair.value.clear();
        text.remove_prefix(pair.value.size());
      }
      if (line.value(pair.key) != nullptr) {
        return cannot_use(source_, line.line,
                          fmt::format("{} is given twice; put all values into one", pair.key));
      }
      line.pairs.push_back(std::move(pair));
    }
    return {};
  }

  std::string_view rest_;
  std::string_view source_;
  std::uint32_t next_ = 1;
};

}  // namespace

const std::string* SlurmLine::value(std::string_view key) const {
  const auto found = std::ranges::find_if(
      pairs, [&](const SlurmPair& pair) { return equals_without_case(pair.key, key); });
  return found == pairs.end() ? nullptr : &found->value;
}

bool SlurmLine::is_about(std::string_view key) const {
  return equals_without_case(pairs.front().key, key);
}

Result<std::vector<SlurmLine>> read_slurm_lines(std::string_view text, std::string_view source) {
  if (text.size() > kTextBytesMax) {
    return cannot_use(source, 0, fmt::format("longer than {} bytes", kTextBytesMax),
                      base::Errc::kLimit);
  }
  return LineReader(text, source).read();
}

base::Status check_keys(const SlurmLine& line, std::span<const std::string> known,
                        std::string_view source) {
  for (const SlurmPair& pair : line.pairs) {
    const auto is_it = [&](const std::string& key) { return equals_without_case(key, pair.key); };
    if (std::ranges::any_of(known, is_it)) continue;
    const std::string near = base::nearest(pair.key, known);
    return cannot_use(
        source, line.line,
        fmt::format("unknown key {}{}; expected one of {}", pair.key.substr(0, kNameBytesMax),
                    near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                    base::join(known, ", ")));
  }
  return {};
}

Result<std::vector<std::string>> names_in(const SlurmLine& line, std::string_view key,
                                          std::string_view source, NameBudget& budget) {
  const std::string* const list = line.value(key);
  if (list == nullptr || list->empty()) return std::vector<std::string>();
  return budget.expand(*list, source, line.line, key);
}

Result<std::uint32_t> number_in(const SlurmLine& line, std::string_view key,
                                std::string_view source) {
  const std::string* const text = line.value(key);
  if (text == nullptr) return std::uint32_t{0};
  const auto number = base::parse_int<std::uint32_t>(*text);
  if (number) return *number;
  return cannot_use(source, line.line,
                    fmt::format("{} must be a number, not '{}'", key,
                                base::printable(text->substr(0, kNameBytesMax))));
}

}  // namespace robustrun::topo
