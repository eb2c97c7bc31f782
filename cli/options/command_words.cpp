#include "cli/options/command_words.h"

#include <utility>

#include "cli/options/limits.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// Whether a backslash before `c` is an escape.
bool is_escaped(char quote, char c) {
  return quote == '\0' || (quote == '"' && (c == '"' || c == '\\' || c == '$' || c == '`'));
}

}  // namespace

base::Result<std::vector<std::string>> command_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size() && is_escaped(quote, text[i + 1])) {
      word += text[++i];
      in_word = true;
    } else if (quote != '\0' ? c == quote : c == '\'' || c == '"') {
      quote = quote == '\0' ? c : '\0';
      in_word = true;
    } else if (quote == '\0' && is_blank(c)) {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
      in_word = true;
    }
    if (words.size() > kCommandWordsMax) {
      return fail(Errc::kLimit, "it has more than " + std::to_string(kCommandWordsMax) + " words");
    }
  }
  if (quote != '\0') return fail(Errc::kInvalidArgument, "a quote is not closed");
  if (in_word) words.push_back(std::move(word));
  if (words.empty() || words.front().empty()) {
    return fail(Errc::kInvalidArgument, "it names no program");
  }
  return words;
}

}  // namespace robustrun::cli
