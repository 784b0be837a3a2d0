// tests/support/golden.h: compares what others parse with files that a person has reviewed.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tessera::tests {

// Whether `actual` is byte for byte the file tests/testdata/<name>. With UPDATE_GOLDEN=1 in the environment the file is
// rewritten instead; review the change as a diff.
testing::AssertionResult MatchesGolden(std::string_view actual, const std::string& name);

}  // namespace tessera::tests
