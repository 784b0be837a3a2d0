#include "base/json_text.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(AppendJsonString, EscapesWhatSomeReaderMayTripOver) {
  struct Case {
    std::string_view text, printed;
  };
  constexpr Case kCases[]{
      {"", R"("")"},
      {"plain é ∀ 𝄞", R"("plain é ∀ 𝄞")"},
      {R"(a "b" \c)", R"("a \"b\" \\c")"},
      {"line\nreturn\rtab\t", R"("line\nreturn\rtab\t")"},
      {"\x01\x1F\x7F", R"("\u0001\u001f\u007f")"},
      {"\u0080\u0085\u009F\u00A0", "\"\\u0080\\u0085\\u009f\u00A0\""},
      {"\u2027\u2028\u2029\u202A", "\"\u2027\\u2028\\u2029\u202A\""},
      {"\uFEFF\uFFFE\uFFFF", R"("\ufeff\ufffe\uffff")"},
      {"\xC2", "\"\xC2\""},          // Cut off in the middle of a character: left as it is.
      {"\xE2\x80", "\"\xE2\x80\""},  //
  };
  for (const Case& c : kCases) {
    std::string out = ">";
    AppendJsonString(out, c.text);
    EXPECT_EQ(out, ">" + std::string(c.printed));
  }
}

TEST(HasControls, FindsThemAnywhere) {
  EXPECT_FALSE(HasControls("a \"b\" \\c é \u00A0 \u202A"));
  for (const std::string_view text : {"\n", "a\x7F", "a\u0085b", "é\u2028", "\u2029é"})
    EXPECT_TRUE(HasControls(text)) << text;
}

}  // namespace
}  // namespace tessera
