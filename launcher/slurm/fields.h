#pragma once
// One record of `scontrol show … --oneliner`: "JobId=1 JobName=a b JobState=RUNNING …". Pure.

#include <map>
#include <string_view>

namespace robustrun::launcher {

class SlurmFields {
 public:
  // `shown` must outlive the fields.
  explicit SlurmFields(std::string_view shown);
  // Up to the next blank; empty where the field is missing.
  [[nodiscard]] std::string_view value(std::string_view name) const;

 private:
  std::map<std::string_view, std::string_view> fields_;
};

}  // namespace robustrun::launcher
