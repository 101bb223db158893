import sitemap_reader as sr


def answer(files):
    states = sr.load(files, at="name").growth()
    return states["pages"].set_axis(states["at"].dt.strftime("%Y-%m-%d")).to_dict()
