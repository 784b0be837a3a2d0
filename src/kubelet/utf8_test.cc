#include "kubelet/utf8.h"

#include <gtest/gtest.h>

#include <array>

namespace tessera::kubelet {
namespace {

TEST(ToUtf8, ReplacesWhatIsNoCharacter) {
  struct Case {
    std::string_view name, text, want;
  };
  constexpr std::array kCases{
      Case{"plain", "GPU lost", "GPU lost"},
      Case{"two, three and four bytes", "é€😀", "é€😀"},
      Case{"a byte of Latin-1", "caf\xE9!", "caf\xEF\xBF\xBD!"},
      Case{"a continuation alone", "\x80", "\xEF\xBF\xBD"},
      Case{"an overlong slash", "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      Case{"an overlong three-byte form", "\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      Case{"a surrogate", "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      Case{"beyond U+10FFFF", "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      Case{"cut off", "a\xE2\x82", "a\xEF\xBF\xBD\xEF\xBF\xBD"},
      Case{"the last code point", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ToUtf8(c.text), c.want);
  }
}

TEST(ToUtf8, CutsAtACharacter) {
  struct Case {
    std::string_view text;
    std::size_t limit;
    std::string_view want;
  };
  constexpr std::array kCases{
      Case{"abcdef", 6, "abcdef"},         Case{"abcdef", 4, "abcd"}, Case{"a€b", 3, "a"}, Case{"a€b", 4, "a€"},
      Case{"\xFF\xFF", 3, "\xEF\xBF\xBD"}, Case{"\xFF", 2, ""},       Case{"abc", 0, ""},
  };
  for (const Case& c : kCases) EXPECT_EQ(ToUtf8(c.text, c.limit), c.want);
}

}  // namespace
}  // namespace tessera::kubelet
