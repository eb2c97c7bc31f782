// Any bytes as what is said over a run's control socket, either way, and as its file `control`.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "supervisor/control/fault_request.h"
#include "supervisor/control/file.h"
#include "supervisor/control/operation_request.h"
#include "supervisor/core/status/render.h"

namespace {

using namespace robustrun::supervisor;

void as_control_file(std::string_view text) {
  const auto file = parse_control_file(text);
  if (file && (file->socket.empty() || file->pid < 0)) std::abort();
}

void as_message(std::string_view text) {
  const auto fields = read_control_message(text);
  if (!fields) return;
  static_cast<void>(read_fault_request(*fields));
  static_cast<void>(read_fault_report(*fields));
  if (const auto stop = read_stop_request(*fields)) {
    if (stop->signal <= 0 || stop->signal == 9 || stop->signal == 19) std::abort();
  }
  static_cast<void>(read_output_question(*fields));
  if (const auto news = read_output_news(*fields)) {
    std::size_t sum = 0;
    for (const OutputPiece& piece : news->output.pieces) sum += piece.bytes;
    if (sum != news->output.bytes.size()) std::abort();
    // What was read once is written and read again the same.
    const auto again = read_control_message(write_control_message(to_fields(*news)));
    if (!again) std::abort();
    const auto back = read_output_news(*again);
    if (!back || back->output.bytes != news->output.bytes) std::abort();
  }
}

void as_status(std::string_view text) {
  const auto status = read_status_answer(text);
  if (!status) return;
  static_cast<void>(render_status(*status, true, 80, 100));
  if (!read_status_answer(write_status_answer(*status))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  as_control_file(text);
  as_message(text);
  as_status(text);
  return 0;
}
