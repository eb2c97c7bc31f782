#include "supervisor/console/line_prefix.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/core/text_template.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

}  // namespace

void LinePrefixer::append(std::string& out, StreamId stream, std::string_view prefix,
                          std::string_view bytes, std::string_view known) {
  if (bytes.empty()) return;
  if (prefix.empty()) {
    out.append(bytes);
    return;
  }
  if (position_ != Position::kLineStart && last_ != stream) {
    out += '\n';
    position_ = Position::kLineStart;
  }
  last_ = stream;
  std::size_t next_return = bytes.find('\r');
  std::size_t from = 0;
  while (from < bytes.size()) {
    if (next_return < from) next_return = bytes.find('\r', from);
    // The first '\n' or '\r'; the search for one stops at the other.
    const std::string_view line = bytes.substr(from, std::min(next_return, bytes.size()) - from);
    const std::size_t newline = line.find('\n');
    const std::size_t end = newline == std::string_view::npos ? from + line.size() : from + newline;
    const bool ends = end < bytes.size();
    const bool returns = ends && bytes[end] == '\r';
    // "\r" alone and the end of "\r\n" are no lines of their own.
    const bool bare = end == from && (returns || position_ == Position::kAfterReturn);
    std::size_t begin = from;
    if (position_ != Position::kInLine && !bare) {
      out.append(prefix);
      if (!known.empty() && line.starts_with(known)) begin += known.size();
    }
    out.append(bytes, begin, end - begin + (ends ? 1 : 0));
    position_ = !ends ? Position::kInLine : returns ? Position::kAfterReturn : Position::kLineStart;
    from = end + 1;
  }
}

std::string known_prefix(const ConsoleStyle& style, const wire::Output& output) {
  const bool is_same = style.prefix == ConsoleStyle::Prefix::kRank && output.is_stderr;
  return is_same ? fmt::format("[rank{}]: ", output.rank.value) : std::string();
}

std::string line_prefix(const ConsoleStyle& style, std::string_view role, std::string_view host,
                        const wire::Output& output) {
  const std::string rank = std::to_string(output.rank.value);
  const std::string local_rank = std::to_string(output.local_rank.value);
  const bool colour = output.is_stderr ? style.colour_err : style.colour_out;
  const std::string_view on = colour ? kDim : "";
  const std::string_view off = colour ? kPlain : "";
  switch (style.prefix) {
    case ConsoleStyle::Prefix::kNone: return {};
    case ConsoleStyle::Prefix::kRank: return fmt::format("{}[rank {}]{} ", on, rank, off);
    case ConsoleStyle::Prefix::kTemplate: {
      const std::array<base::TemplateValue, 4> values{
          {{"role_name", role}, {"rank", rank}, {"local_rank", local_rank}, {"hostname", host}}};
      return fmt::format("{}{}{}", on, base::substitute(style.prefix_template, values), off);
    }
  }
  return {};
}

}  // namespace robustrun::supervisor
