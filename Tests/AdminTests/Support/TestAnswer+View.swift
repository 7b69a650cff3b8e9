import Rendering
import TestSupport

extension TestAnswer {
    /// As a command shows it.
    func shown(_ view: View) -> String { view.text(of: content) }
}
