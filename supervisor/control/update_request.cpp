#include "supervisor/control/update_request.h"

#include <fmt/core.h>

#include <utility>

#include "supervisor/control/fields.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/limits.h"
#include "supervisor/run_dir/version_store.h"

namespace robustrun::supervisor {
namespace {

using base::Errc;
using base::fail;

base::Result<UpdateRequested> going_back(const UpdateOrder& order, const Versions& versions) {
  UpdateRequested event;
  if (order.back_to) {
    event.version = *order.back_to;
    if (event.version >= versions.all.size()) {
      return fail(Errc::kInvalidArgument, fmt::format("there is no version {}: the newest is {}",
                                                      event.version, versions.all.size() - 1));
    }
  } else if (versions.is_changing()) {
    event.version = versions.present;
  } else if (const auto older = versions.older(false)) {
    event.version = *older;
  } else {
    return fail(Errc::kInvalidArgument,
                fmt::format("there is no version before {} that may work", versions.present));
  }
  if (event.version == versions.next) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} is {}", versions.name(event.version),
                            versions.is_changing() ? "what the next attempt gets already"
                                                   : "what the workers have"));
  }
  return event;
}

base::Result<UpdateRequested> new_version(const UpdateOrder& order, const UpdateHands& hands,
                                          const Versions& versions) {
  if (versions.all.size() >= kVersionsMax) {
    return fail(Errc::kLimit, fmt::format("a run has at most {} versions", kVersionsMax));
  }
  UpdateRequested event;
  event.version = static_cast<std::uint32_t>(versions.all.size());
  const auto update =
      RR_TRY(adopt_stage(hands.run_directory, order.stage, versions.next, event.version));
  event.changes = update.words;
  event.digest = update.changes.code_digest;
  return event;
}

base::Result<UpdateRequested> event_of(const UpdateOrder& order, const UpdateHands& hands) {
  const Job& job = hands.job();
  if (job.state() == JobState::kFinishing || job.state() == JobState::kFinished) {
    return fail(Errc::kUnavailable, "the run is ending");
  }
  UpdateRequested event = order.stage.empty() ? RR_TRY(going_back(order, job.versions()))
                                              : RR_TRY(new_version(order, hands, job.versions()));
  event.now = order.now;
  event.within = order.within;
  return event;
}

std::string answer_in_words(const UpdateRequested& event, const UpdateHands& hands) {
  const Versions& versions = hands.job().versions();
  std::string text = versions.name(event.version);
  if (event.version == versions.present) {
    text += " is what the workers have, and stays";
  } else {
    text += event.now ? ": the workers are started again with it"
                      : ": the workers have it from the next restart on";
  }
  if (hands.many_machines && !event.digest.empty()) {
    text += fmt::format(
        "; every node must see {}: where the code is not as it was handed in nothing "
        "starts, and the run goes back to the version before",
        hands.run_directory);
  }
  return text;
}

}  // namespace

ControlFields to_fields(const UpdateOrder& order) {
  ControlFields fields{{"command", "update"}, {"now", order.now ? "1" : "0"}};
  if (!order.stage.empty()) fields["stage"] = order.stage;
  if (order.back_to) fields["back_to"] = std::to_string(*order.back_to);
  if (order.within > base::Nanos{}) fields["within_ns"] = std::to_string(order.within.count());
  return fields;
}

base::Result<UpdateOrder> read_update_order(const ControlFields& fields) {
  UpdateOrder order;
  order.stage = text_of(fields, "stage");
  order.now = text_of(fields, "now") == "1";
  if (fields.contains("back_to")) {
    if (!order.stage.empty()) {
      return fail(Errc::kInvalidArgument, "a new version and going back exclude each other");
    }
    RR_TRY(read_number(fields, "back_to", order.back_to.emplace()));
  }
  std::int64_t within = 0;
  RR_TRY(read_number(fields, "within_ns", within));
  order.within = base::Nanos(within);
  if (order.within < base::Nanos{} || order.within > kUpdateWithinMax) {
    return fail(Errc::kInvalidArgument, "within_ns is negative or too long");
  }
  return order;
}

ControlServer::Row update_row(UpdateHands hands) {
  return {"update", [hands = std::move(hands)](const ControlFields& fields,
                                               const ControlServer::Reply& reply) {
            const auto order = read_update_order(fields);
            if (!order) return reply(control_refusal(order.error().what), nullptr);
            auto event = event_of(*order, hands);
            if (!event) return reply(control_refusal(event.error().what), nullptr);
            hands.record(*event);
            reply(write_control_message({{"type", "update"},
                                         {"version", std::to_string(event->version)},
                                         {"text", answer_in_words(*event, hands)}}),
                  nullptr);
          }};
}

}  // namespace robustrun::supervisor
