#include "supervisor/control/operation_rows.h"

#include <memory>
#include <utility>

namespace robustrun::supervisor {
namespace {

using Reply = ControlServer::Reply;

void refuse(const Reply& reply, const base::Error& error) {
  reply(control_refusal(error.what), nullptr);
}

}  // namespace

std::vector<ControlServer::Row> operation_rows(OutputHub& hub, OperationHands hands) {
  const auto shared = std::make_shared<const OperationHands>(std::move(hands));
  return {{"status",
           [shared](const ControlFields&, const Reply& reply) {
             reply(write_status_answer(shared->status()), nullptr);
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
