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

// All viewers share one status, which is made twice as often as each of them asks.
class ChangesAnswers {
 public:
  std::string get(const OperationHands& hands, std::uint64_t since,
                  std::optional<std::uint32_t> rank) {
    const base::Nanos now = clock_.now();
    if (made_at_ == base::Nanos{} || now - made_at_ >= kChangesAgeMax) {
      changes_.take(hands.status());
      made_at_ = now;
    }
    return write_changes_answer(changes_.since(since, rank));
  }

 private:
  base::SystemClock clock_;
  StatusChanges changes_;
  base::Nanos made_at_{};
};

ControlServer::Row changes_row(std::shared_ptr<const OperationHands> hands) {
  return {"changes", [hands = std::move(hands), answers = std::make_shared<ChangesAnswers>()](
                         const ControlFields& fields, const Reply& reply) {
            std::uint64_t since = 0;
            std::uint32_t rank = 0;
            if (const auto read = read_number(fields, "since", since); !read) {
              return refuse(reply, read.error());
            }
            if (const auto read = read_number(fields, "rank", rank); !read) {
              return refuse(reply, read.error());
            }
            const bool has_rank = fields.contains("rank");
            reply(answers->get(*hands, since, has_rank ? std::optional(rank) : std::nullopt),
                  nullptr);
          }};
}

}  // namespace

ControlFields changes_request(std::uint64_t since, std::optional<std::uint32_t> rank) {
  ControlFields fields = {{"command", "changes"}, {"since", std::to_string(since)}};
  if (rank) fields["rank"] = std::to_string(*rank);
  return fields;
}

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
          changes_row(shared),
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
