/// The name that was probably meant, when one is close enough.
package func nearMiss(_ written: String, among names: [String]) -> String? {
    func plain(_ name: String) -> [UInt8] {
        name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
    }
    let wanted = plain(written)
    let closest =
        names
        .map { (name: $0, distance: editDistance(wanted, plain($0))) }
        .min { $0.distance < $1.distance }
    guard let closest, closest.distance <= max(1, wanted.count / 3) else { return nil }
    return closest.name
}

/// Insertions, removals, replacements and swaps of neighbours that turn one into the other.
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var twoBack: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
        var current = [row + 1]
        for column in right.indices {
            let isSame = left[row] == right[column]
            var best = min(
                last[column + 1] + 1,
                current[column] + 1,
                last[column] + (isSame ? 0 : 1)
            )
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                best = min(best, twoBack[column - 1] + 1)
            }
            current.append(best)
        }
        twoBack = last
        last = current
    }
    return last[right.count]
}
