//! Coverage in the form of lcov's trace files, which `genhtml` and most servers of continuous integration read
//! (`man geninfo`, section *Files*). [`super`] calls this.

use std::fmt::Write;

use squall::coverage::FileCoverage;

/// The trace file of these files.
pub fn text<'f>(files: impl Iterator<Item = &'f FileCoverage>) -> String {
    let mut text = String::new();
    for file in files {
        // Writing to a String cannot fail.
        _ = add(&mut text, file);
    }
    text
}

fn add(text: &mut String, file: &FileCoverage) -> std::fmt::Result {
    writeln!(text, "TN:\nSF:{}", file.path)?;
    for method in &file.methods {
        writeln!(text, "FN:{},{}", method.line, method.name)?;
    }
    for method in &file.methods {
        writeln!(text, "FNDA:{},{}", method.count, method.name)?;
    }
    let called = file.methods.iter().filter(|method| method.count > 0).count();
    writeln!(text, "FNF:{}\nFNH:{called}", file.methods.len())?;
    let mut ways = (0, 0);
    for (block, branch) in file.branches.iter().enumerate() {
        let is_reached = branch.ways.iter().any(|&count| count > 0);
        for (way, &count) in branch.ways.iter().enumerate() {
            writeln!(text, "BRDA:{},{block},{way},{}", branch.line, taken(is_reached, count))?;
            ways = (ways.0 + 1, ways.1 + usize::from(count > 0));
        }
    }
    writeln!(text, "BRF:{}\nBRH:{}", ways.0, ways.1)?;
    for line in &file.lines {
        writeln!(text, "DA:{},{}", line.line, line.count)?;
    }
    let run = file.lines.iter().filter(|line| line.count > 0).count();
    writeln!(text, "LF:{}\nLH:{run}\nend_of_record", file.lines.len())
}

/// How often a way was taken; a hyphen if the control structure was never reached.
fn taken(is_reached: bool, count: u64) -> String {
    if is_reached { count.to_string() } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall::coverage::{BranchCoverage, LineCoverage, MethodCoverage};

    #[test]
    fn records_have_methods_branches_and_lines() {
        let file = FileCoverage {
            path: "a.ns".into(),
            text: String::new(),
            lines: vec![LineCoverage { line: 3, count: 2 }, LineCoverage { line: 4, count: 0 }],
            methods: vec![MethodCoverage { name: "A>>b:c:".into(), line: 2, count: 2 }],
            branches: vec![
                BranchCoverage { line: 3, column: 9, ways: vec![2, 0] },
                BranchCoverage { line: 4, column: 9, ways: vec![0, 0] },
            ],
        };
        let lines = [
            "TN:",
            "SF:a.ns",
            "FN:2,A>>b:c:",
            "FNDA:2,A>>b:c:",
            "FNF:1",
            "FNH:1",
            "BRDA:3,0,0,2",
            "BRDA:3,0,1,0",
            "BRDA:4,1,0,-",
            "BRDA:4,1,1,-",
            "BRF:4",
            "BRH:1",
            "DA:3,2",
            "DA:4,0",
            "LF:2",
            "LH:1",
            "end_of_record",
            "",
        ];
        assert_eq!(text([file].iter()), lines.join("\n"));
    }
}
