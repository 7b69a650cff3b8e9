/// The pages of a damaged database beside a connection to it, as SQLite reads them. It has to live as long as that.
final class DamagedFile {
    let pages: StoredPages

    init(_ database: String) { pages = StoredPages(of: database, .asRead) }
}
