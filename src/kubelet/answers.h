// kubelet/answers.h: what the handler said, made into what the kubelet accepts. Pure.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

// A claim's error becomes the text of an Event on the pod.
inline constexpr std::size_t kMaxErrorText = 1024;

// The claims of a request, each UID once: the first of its name counts.
std::vector<api::ClaimRef> DistinctClaims(std::vector<api::ClaimRef> claims);

// Exactly one answer for each of `asked`, in its order. What was not answered is an error, what was not asked is dropped
// with a warning: the kubelet fails all claims of the pod when one is missing, and when one is unknown.
Answers MatchAnswers(std::span<const api::ClaimRef> asked, Answers given);

// The text of a failed claim: never empty, because an empty one means success; valid UTF-8; at most kMaxErrorText bytes.
std::string ErrorText(const Error& error);

// When the handler should have answered: before the client gives up, and in any case before the kubelet's 45 s, with time
// left for the answer to travel.
Deadline HandlerDeadline(std::chrono::nanoseconds client_timeout, Deadline now);

}  // namespace tessera::kubelet
