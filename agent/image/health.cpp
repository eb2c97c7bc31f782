#include "agent/image/health.h"

#include "base/core/text.h"
#include "base/io/log.h"
#include "bootstrap/store/blob.h"
#include "wire/messages/limits.h"
#include "wire/messages/messages.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

void report_image_health(NodeContext& node, const wire::WorkerTemplate& plain,
                         const std::string& what, bool is_over) {
  const std::string subject = "image " + base::printable(bootstrap::shown_source(plain.image));
  if (!plain.health) {
    base::log_line(is_over ? base::LogLevel::kInfo : base::LogLevel::kError, {},
                   "the " + subject + ": " + what);
    return;
  }
  node.send(wire::NodeHealth{wire::NodeHealth::Source::kDisk,
                             wire::short_text(subject, wire::kHealthSubjectBytesMax),
                             wire::short_text(what, wire::kHealthLineBytesMax), 0, is_over});
}

}  // namespace robustrun::agent
