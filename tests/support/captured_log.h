#pragma once
// Captures the log's lines during its lifetime.

#include <string>
#include <string_view>

#include "base/io/log.h"

namespace robustrun::test {

class CapturedLog {
 public:
  CapturedLog() {
    base::redirect_log([this](base::LogLevel, const base::LogContext&, std::string_view line) {
      text_ += line;
      text_ += '\n';
    });
  }
  ~CapturedLog() { base::redirect_log(nullptr); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace robustrun::test
