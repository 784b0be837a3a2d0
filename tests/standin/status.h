// tests/standin/status.h: refusals in the API server's own words (apimachinery's api/errors).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"
#include "tests/standin/http.h"
#include "tests/standin/store.h"

namespace tessera::standin {

// The metav1.Status of a failure; the reason follows from the code. `key` may be empty.
json::Value StatusObject(int code, std::string_view message, const Key& key = {}, int retry_after = 0);
Answer Refuse(int code, std::string_view message, const Key& key = {});

Answer NotFound(const Key& key);
Answer AlreadyExists(const Key& key);
Answer Modified(const Key& key);  // The resourceVersion sent is not the newest.
Answer PreconditionFailed(const Key& key, std::string_view what, std::string_view wanted, std::string_view found);
Answer NoSuchPage();  // A path of no API: plain text, not a Status.
Answer ContinueTooOld();
json::Value WatchTooOld(std::uint64_t asked, std::uint64_t oldest);

}  // namespace tessera::standin
