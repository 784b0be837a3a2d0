// driver/journal_metrics.h: what the journal holds and did, as series.
#pragma once

#include "driver/metrics.h"
#include "journal/journal.h"

namespace tessera::driver {

// Brings the series of the journal and of prepared claims up to date; called before they are printed.
void ShowJournal(journal::Journal& journal, Metrics& metrics);

}  // namespace tessera::driver
