// tests/support/golden.h: compares what others parse with files that a person has reviewed.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tessera::tests {

// Whether `actual` is byte for byte the file tests/testdata/<name>. With UPDATE_GOLDEN=1 in the environment the file is
// rewritten instead; review the change as a diff.
testing::AssertionResult MatchesGolden(std::string_view actual, const std::string& name);

// Whether the page, such as "docs/health.md", has `table` between its markers "<!-- name: begin … -->" and
// "<!-- name: end -->". UPDATE_GOLDEN=1 puts it there.
testing::AssertionResult PageShows(const std::string& page, std::string_view name, const std::string& table);

}  // namespace tessera::tests
