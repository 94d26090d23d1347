//! A page about a run, for people.

use std::fmt::Write as _;

use super::report::Report;

/// How many failures of each kind are listed.
const LISTED: usize = 25;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse}th,td{padding:.2rem .9rem;text-align:right;border-bottom:1px solid #ddd}\
th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}.bad{color:#b00020;font-weight:600}\
.good{color:#1b7a2f}code{background:#f4f4f4;padding:0 .2rem}details{margin:.6rem 0}";

/// A row of the table: what was asked of which cases, and how it went.
pub struct Row<'a> {
    /// The collection of cases.
    pub collection: &'a str,
    /// The report.
    pub report: &'a Report,
    /// What the suite counts.
    pub summary: &'a str,
    /// How many failures have no written reason.
    pub unexplained: usize,
}

/// The page.
#[must_use]
pub fn page(rows: &[Row<'_>]) -> String {
    let mut text =
        format!("<!doctype html><meta charset=\"utf-8\"><title>Conformance</title><style>{STYLE}</style>");
    text.push_str("<h1>Conformance</h1><table><tr><th>suite<th>cases of<th>cases<th>failures<th>with a reason<th>without<th>seconds");
    for Row { collection, report, unexplained, .. } in rows {
        let failures = report.failures().len();
        let class = if *unexplained == 0 { "good" } else { "bad" };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "<tr><td><a href=\"#{suite}-{at}\">{suite}</a><td>{at}<td>{}<td>{failures}<td>{}<td class={class}>{unexplained}<td>{:.1}",
            report.cases(),
            failures.saturating_sub(*unexplained),
            report.time().as_secs_f64(),
            suite = report.suite(),
            at = escape(collection),
        );
    }
    text.push_str("</table>");
    for row in rows {
        section(&mut text, row);
    }
    text
}

fn section(text: &mut String, row: &Row<'_>) {
    let (suite, collection) = (row.report.suite(), escape(row.collection));
    let _ = write!(
        text,
        "<h2 id=\"{suite}-{collection}\">{suite}, {collection}</h2><pre>{}</pre>",
        escape(row.summary)
    );
    let mut failures: Vec<_> = row.report.failures().iter().collect();
    failures.sort_by(|a, b| a.1.kind.cmp(&b.1.kind));
    for of_kind in failures.chunk_by(|a, b| a.1.kind == b.1.kind) {
        let kind = of_kind.first().map(|(_, failure)| escape(&failure.kind)).unwrap_or_default();
        let _ = write!(text, "<details><summary>{kind}: {}</summary><ul>", of_kind.len());
        for (case, failure) in of_kind.iter().take(LISTED) {
            let _ = write!(text, "<li><code>{}</code> {}", escape(case), escape(&failure.detail));
        }
        if let Some(more) = of_kind.len().checked_sub(LISTED).filter(|&more| more > 0) {
            let _ = write!(text, "<li>and {more} more in <code>report.json</code>");
        }
        text.push_str("</ul></details>");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::conformance::report::Failure;
    use crate::conformance::runner::Outcome;

    #[test]
    fn failures_are_on_the_page_and_do_no_harm() {
        let outcome = Outcome { failures: vec![Failure::new("odd", "<script>")], ..Outcome::default() };
        let report = Report::new("check", BTreeMap::from([("a&b".to_owned(), outcome)]), Duration::ZERO);
        let page = page(&[Row { collection: "bundled", report: &report, summary: "1 odd", unexplained: 1 }]);
        assert!(page.contains("<li><code>a&amp;b</code> &lt;script&gt;"), "{page}");
        assert!(page.contains("<td class=bad>1"), "{page}");
    }
}
