#include "bootstrap/store/local_sources.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/core/text.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// A TOML string from its opening quote: its content and its end.
std::string toml_string(std::string_view text, std::size_t& at) {
  const char quote = text[at];
  const std::string three(3, quote);
  if (text.substr(at).starts_with(three)) {
    const std::size_t end = text.find(three, at + 3);
    const std::string value(text.substr(at + 3, end == text.npos ? end : end - at - 3));
    at = end == text.npos ? text.size() : end + 3;
    return value;
  }
  std::string value;
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
    if (quote == '"' && text[at] == '\\' && at + 1 < text.size()) ++at;
    value += text[at];
  }
  if (at < text.size()) ++at;
  return value;
}

// Visits the values of a TOML text, each with its table and the last key before it.
class ProjectReader {
 public:
  explicit ProjectReader(std::string_view text) : text_(text) {}

  ProjectSources read() && {
    while (at_ < text_.size()) step();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      is_line_start_ = true;
      ++at_;
      return;
    }
    if (kBlanks.find(c) != kBlanks.npos) {
      ++at_;
      return;
    }
    const bool is_header = std::exchange(is_line_start_, false) && depth_ == 0 && c == '[';
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (is_header) {
      header();
    } else if (c == '"' || c == '\'') {
      last_ = toml_string(text_, at_);
      if (!follows_equals()) value(last_);
    } else if (is_word(c)) {
      const std::size_t from = at_;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      last_ = text_.substr(from, at_ - from);
      if (last_ == "true" && in_uv() && key_.ends_with("workspace")) found_.needs_workspace = true;
    } else {
      mark(c);
    }
  }

  void header() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    table_.clear();
    for (; at_ < end && text_[at_] != '#'; ++at_) {
      if (is_word(text_[at_])) table_ += text_[at_];
    }
  }

  void mark(char c) {
    if (c == '=') key_ = last_;
    if (c == '=' && depth_ == 0) name_ = table_.empty() ? key_ : table_ + "." + key_;
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    ++at_;
  }

  void value(const std::string& text) {
    if (in_uv() && key_.ends_with("path")) found_.paths.push_back(text);
    if (in_uv() && key_.ends_with("members")) found_.members.push_back(text);
    const auto file = text.find("file:");
    const auto sign = text.find('@');
    if (sign < file && file != text.npos &&
        base::trim(std::string_view(text).substr(sign + 1, file - sign - 1)).empty()) {
      const std::string path = text.substr(file);
      found_.paths.push_back(path.substr(0, path.find_first_of(";#")));
    }
  }

  [[nodiscard]] bool in_uv() const { return name_.starts_with("tool.uv"); }
  [[nodiscard]] bool follows_equals() const {
    const auto next = text_.find_first_not_of(kBlanks, at_);
    return next != text_.npos && text_[next] == '=';
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string table_, key_, last_;
  std::string name_;  // full key of this line's value
  int depth_ = 0;
  bool is_line_start_ = true;
  ProjectSources found_;
};

// An item of YAML without its quotes or its comment.
std::string_view yaml_item(std::string_view item) {
  item = base::trim(item);
  if (!item.empty() && (item.front() == '"' || item.front() == '\'')) {
    return item.substr(1, item.find(item.front(), 1) - 1);
  }
  return base::trim(item.substr(0, item.find(" #")));
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_named(std::string_view word, std::string_view name) {
  const std::string_view file = file_name(word);
  return file.starts_with(name) &&
         file.find_first_not_of("0123456789.", name.size()) == std::string_view::npos;
}

// The words after "pip install", which may follow "python -m" or "uv"; nullopt: another command.
std::optional<std::size_t> behind_pip_install(const std::vector<std::string>& words) {
  std::size_t at = 0;
  if (at < words.size() && is_named(words[at], "uv")) {
    ++at;
  } else if (at < words.size() && is_named(words[at], "python")) {
    ++at;
    while (at < words.size() && words[at].starts_with('-')) ++at;
    if (words[at - 1] != "-m") return std::nullopt;
  }
  if (at + 1 >= words.size() || !is_named(words[at], "pip")) return std::nullopt;
  if (words[at + 1] != "install") return std::nullopt;
  return at + 2;
}

// The words, and the words inside those that hold several, as for `sh -c`.
std::vector<std::string> pieces_of(const std::vector<std::string>& words) {
  constexpr std::string_view kBetween = " \t\n;&|()<>'\"`";
  std::vector<std::string> pieces;
  for (const std::string& word : words) {
    pieces.push_back(word);
    if (word.find_first_of(kBetween) == word.npos) continue;
    for (std::size_t from = 0; from < word.size();) {
      const std::size_t end = std::min(word.find_first_of(kBetween, from), word.size());
      if (end > from) pieces.push_back(word.substr(from, end - from));
      from = end + 1;
    }
  }
  return pieces;
}

// Makes "-r FILE" and similar lines from words; an option's value may be the next word.
std::string pip_line(const std::vector<std::string>& words, std::size_t& at) {
  constexpr std::array<std::string_view, 10> kOptions = {
      "-r",          "--requirement", "--requirements",
      "-c",          "--constraint",  "--constraints",
      "-e",          "--editable",    "-f",
      "--find-links"};
  std::string word = words[at];
  const std::size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
  std::string name = word.substr(0, equals);
  const bool is_plural = name == "--requirements" || name == "--constraints";
  if (std::ranges::find(kOptions, name) == kOptions.end()) return word;
  if (is_plural) name.pop_back();
  if (equals != word.npos) return name + "=" + word.substr(equals + 1);
  if (at + 1 < words.size()) return name + " " + words[++at];
  return {};
}

void add_candidate(CommandSources& found, const std::string& word) {
  if (!word.empty()) found.candidates.push_back(word);
  const std::size_t equals = word.find('=');
  if (equals != word.npos && equals + 1 < word.size()) {
    found.candidates.push_back(word.substr(equals + 1));
  }
}

}  // namespace

ProjectSources project_sources(std::string_view text) { return ProjectReader(text).read(); }

// Lock files are written only by uv, with one source per line.
std::vector<std::string> lock_sources(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"{ editable = \"", "{ directory = \"",
                                                      "{ path = \""};
  std::vector<std::string> paths;
  for (const std::string_view line : base::split(text, '\n')) {
    for (const std::string_view word : kWords) {
      const auto at = line.find(word);
      if (!line.starts_with("source = ") || at == std::string_view::npos) continue;
      const std::string_view behind = line.substr(at + word.size());
      std::string path(behind.substr(0, behind.find('"')));
      if (path != "." && !path.empty()) paths.push_back(std::move(path));
    }
  }
  return paths;
}

std::vector<std::string> conda_pip_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::optional<std::size_t> indent;  // of the "- pip:" that the list belongs to
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == line.npos || line[begin] == '#') continue;
    if (indent && begin <= *indent) indent.reset();
    if (line[begin] != '-') continue;
    const std::string_view item = base::trim(line.substr(begin + 1));
    if (indent) {
      if (const auto what = yaml_item(item); !what.empty()) lines.emplace_back(what);
    } else if (item.starts_with("pip:")) {
      indent = begin;
      const auto open = item.find('['), close = item.find(']');
      if (open == item.npos || close == item.npos || close < open) continue;
      for (const std::string_view each :
           base::split(item.substr(open + 1, close - open - 1), ',')) {
        if (const auto what = yaml_item(each); !what.empty()) lines.emplace_back(what);
      }
    }
  }
  return lines;
}

CommandSources command_sources(const std::vector<std::string>& words) {
  CommandSources found;
  const auto behind = behind_pip_install(words);
  found.is_known = behind.has_value();
  if (behind) {
    for (std::size_t i = *behind; i < words.size(); ++i) {
      std::string line = pip_line(words, i);
      if (!line.empty()) found.lines.push_back(std::move(line));
    }
    return found;
  }
  const std::vector<std::string> pieces = pieces_of(words);
  const bool has_pip =
      std::ranges::any_of(pieces, [](const auto& word) { return is_named(word, "pip"); });
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t before = i;
    const std::string line = has_pip ? pip_line(pieces, i) : pieces[i];
    if (line != pieces[before]) {
      found.lines.push_back(line);
    } else if (!is_named(line, "python") && (i > 0 || line.find('/') != line.npos)) {
      add_candidate(found, line);  // a program without a slash is looked for on PATH
    }
  }
  return found;
}

}  // namespace robustrun::bootstrap
