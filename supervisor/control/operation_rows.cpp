#include "supervisor/control/operation_rows.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/core/clock.h"
#include "supervisor/control/fields.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

using Reply = ControlServer::Reply;

void refuse(const Reply& reply, const base::Error& error) {
  reply(control_refusal(error.what), nullptr);
}

// Answers of large runs take milliseconds to make. Commands that ask again and again take one that
// was made for another of them.
class StatusAnswers {
 public:
  // `age_max`: how old the answer may be.
  const std::string& get(const OperationHands& hands, base::Nanos age_max) {
    const base::Nanos now = clock_.now();
    if (answer_.empty() || now - made_at_ >= age_max) {
      answer_ = write_status_answer(hands.status());
      made_at_ = now;
    }
    return answer_;
  }

 private:
  base::SystemClock clock_;
  std::string answer_;
  base::Nanos made_at_{};
};

}  // namespace

std::vector<ControlServer::Row> operation_rows(OutputHub& hub, OperationHands hands) {
  const auto shared = std::make_shared<const OperationHands>(std::move(hands));
  return {{"status",
           [shared, answers = std::make_shared<StatusAnswers>()](const ControlFields& fields,
                                                                 const Reply& reply) {
             std::uint32_t age_max_ms = 0;
             const auto read = read_number(fields, "age_max_ms", age_max_ms);
             if (!read) return refuse(reply, read.error());
             reply(answers->get(*shared, std::min<base::Nanos>(
                                             kStatusAgeMax, std::chrono::milliseconds(age_max_ms))),
                   nullptr);
           }},
          {"stop",
           [shared](const ControlFields& fields, const Reply& reply) {
             const auto request = read_stop_request(fields);
             if (!request) return refuse(reply, request.error());
             shared->stop(*request);
             reply(write_control_message({{"type", "stop"}}), nullptr);
           }},
          {"output", [shared, &hub](const ControlFields& fields, const Reply& reply) {
             const auto question = read_output_question(fields);
             if (!question) return refuse(reply, question.error());
             hub.ask(*question, [shared, reply](base::Result<OutputAnswer> answer) {
               if (!answer) return refuse(reply, answer.error());
               OutputNews news;
               news.output = *std::move(answer);
               shared->tell(news);
               reply(write_control_message(to_fields(news)), nullptr);
             });
           }}};
}

}  // namespace robustrun::supervisor
