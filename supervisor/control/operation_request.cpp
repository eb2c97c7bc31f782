#include "supervisor/control/operation_request.h"

#include <fmt/core.h>

#include <csignal>

#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "supervisor/control/fields.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

using base::Errc;
using base::fail;

base::Status read_time(const ControlFields& fields, const char* name, base::Nanos most,
                       base::Nanos& time) {
  std::int64_t count = 0;
  RR_TRY(read_number(fields, name, count));
  time = base::Nanos(count);
  if (time >= base::Nanos{} && time <= most) return {};
  return fail(Errc::kInvalidArgument, std::string(name) + " is negative or too long");
}

// "o120 e33": bytes of standard output, then of standard error.
std::string pieces_in_words(const std::vector<OutputPiece>& pieces) {
  std::string words;
  for (const OutputPiece& piece : pieces) {
    words +=
        fmt::format("{}{}{}", words.empty() ? "" : " ", piece.is_stderr ? 'e' : 'o', piece.bytes);
  }
  return words;
}

base::Result<std::vector<OutputPiece>> read_pieces(std::string_view words, std::size_t bytes) {
  std::vector<OutputPiece> pieces;
  std::size_t sum = 0;
  for (const std::string_view word : base::split(words, ' ')) {
    if (word.empty()) continue;
    if (word[0] != 'o' && word[0] != 'e') return fail(Errc::kCorrupt, "unknown stream");
    const auto size = RR_TRY(base::parse_int<std::uint32_t>(word.substr(1)));
    if (size > bytes - sum) return fail(Errc::kCorrupt, "more pieces than bytes");
    sum += size;
    pieces.push_back({word[0] == 'e', size});
  }
  if (sum != bytes) return fail(Errc::kCorrupt, "more bytes than pieces");
  return pieces;
}

}  // namespace

ControlFields to_fields(const StopRequest& request) {
  ControlFields fields{{"command", "stop"}, {"signal", std::to_string(request.signal)}};
  if (request.grace) fields["grace_ns"] = std::to_string(request.grace->count());
  return fields;
}

base::Result<StopRequest> read_stop_request(const ControlFields& fields) {
  StopRequest request;
  RR_TRY(read_number(fields, "signal", request.signal));
  const bool possible = request.signal > 0 && request.signal <= SIGRTMAX;
  if (!possible || request.signal == SIGKILL || request.signal == SIGSTOP) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot stop the run with signal {}: it must "
                                                    "be one that a process can handle",
                                                    request.signal));
  }
  if (fields.contains("grace_ns")) {
    RR_TRY(read_time(fields, "grace_ns", kStopGraceMax, request.grace.emplace()));
  }
  return request;
}

ControlFields to_fields(const OutputQuestion& question) {
  ControlFields fields{{"command", "output"}, {"wait_ns", std::to_string(question.wait.count())}};
  if (question.watcher != 0) fields["watcher"] = std::to_string(question.watcher);
  if (question.from) fields["from"] = std::to_string(*question.from);
  if (question.lines > 0) fields["lines"] = std::to_string(question.lines);
  return fields;
}

base::Result<OutputQuestion> read_output_question(const ControlFields& fields) {
  OutputQuestion question;
  RR_TRY(read_number(fields, "watcher", question.watcher));
  if (fields.contains("from")) RR_TRY(read_number(fields, "from", question.from.emplace()));
  RR_TRY(read_number(fields, "lines", question.lines));
  if (question.lines > kOutputLinesMax) {
    return fail(Errc::kInvalidArgument, "so many lines are not kept");
  }
  RR_TRY(read_time(fields, "wait_ns", kOutputWaitMax, question.wait));
  return question;
}

ControlFields to_fields(const OutputNews& news) {
  ControlFields fields{{"type", "output"},
                       {"watcher", std::to_string(news.output.watcher)},
                       {"position", std::to_string(news.output.position)},
                       {"dropped", std::to_string(news.output.dropped)},
                       {"pieces", pieces_in_words(news.output.pieces)},
                       {"bytes", bytes_to_member(news.output.bytes)},
                       {"state", news.state},
                       {"up", news.up ? "1" : "0"}};
  if (news.exit_code) fields["exit_code"] = std::to_string(*news.exit_code);
  return fields;
}

base::Result<OutputNews> read_output_news(const ControlFields& fields) {
  OutputNews news;
  OutputAnswer& output = news.output;
  RR_TRY(read_number(fields, "watcher", output.watcher));
  RR_TRY(read_number(fields, "position", output.position));
  RR_TRY(read_number(fields, "dropped", output.dropped));
  output.bytes = RR_TRY(member_to_bytes(text_of(fields, "bytes")));
  output.pieces = RR_TRY(read_pieces(text_of(fields, "pieces"), output.bytes.size()));
  news.state = text_of(fields, "state");
  news.up = text_of(fields, "up") == "1";
  if (fields.contains("exit_code")) {
    RR_TRY(read_number(fields, "exit_code", news.exit_code.emplace()));
    output.ended = true;
  }
  return news;
}

}  // namespace robustrun::supervisor
