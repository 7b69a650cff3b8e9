import JSON
import System

extension JSONWriter {
    /// Writes the figures of a group that are members of the object, in the group's order.
    mutating func figures<Subject>(
        _ group: FigureGroup<Subject>,
        of subject: Subject,
        now: WallTime,
        in object: String = ""
    ) {
        for figure in group.figures {
            guard let place = figure.member, place.object == object,
                case .value(let value) = figure.source
            else { continue }
            member(place.name, number: value(subject, now)?.figureText)
        }
    }
}
